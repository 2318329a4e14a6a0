#include "common/redis/reply.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* One reply as it comes over the wire, for as long as FREE is not called. */
static const struct redis_reply *parse(const char *bytes, void **raw)
{
    redisReader *reader = redisReaderCreate();
    assert_int_equal(redisReaderFeed(reader, bytes, strlen(bytes)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, raw), REDIS_OK);
    assert_non_null(*raw);
    redisReaderFree(reader);
    return *raw;
}

static void every_kind_reads_as_what_it_is_and_the_rest_as_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        enum reply_kind kind;
        const char *text; /* NULL = none */
        int64_t integer;  /* -7 = none */
        size_t len;
    } rows[] = {
        {"+OK\r\n", REPLY_STRING, "OK", -7, 0},
        {"$5\r\nhello\r\n", REPLY_STRING, "hello", -7, 0},
        {"$0\r\n\r\n", REPLY_STRING, "", -7, 0},
        {"$2\r\n42\r\n", REPLY_STRING, "42", 42, 0},
        {"$3\r\n042\r\n", REPLY_STRING, "042", -7, 0},
        {"$20\r\n99999999999999999999\r\n", REPLY_STRING, "99999999999999999999", -7, 0},
        {":-9223372036854775807\r\n", REPLY_INTEGER, NULL, -9223372036854775807, 0},
        {":0\r\n", REPLY_INTEGER, NULL, 0, 0},
        {"$-1\r\n", REPLY_NIL, NULL, -7, 0},
        {"*-1\r\n", REPLY_NIL, NULL, -7, 0},
        {"*0\r\n", REPLY_ARRAY, NULL, -7, 0},
        {"*2\r\n:1\r\n+x\r\n", REPLY_ARRAY, NULL, -7, 2},
        {"-ERR 5\r\n", REPLY_ERROR, "ERR 5", -7, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *raw;
        const struct redis_reply *reply = parse(rows[i].bytes, &raw);
        struct text text = reply_text(reply);
        assert_int_equal(reply_kind(reply), rows[i].kind);
        assert_int_equal(text.at != NULL, rows[i].text != NULL);
        assert_true(!rows[i].text || text_is(text, rows[i].text));
        assert_int_equal(reply_int(reply, -7), rows[i].integer);
        assert_int_equal(reply_len(reply), rows[i].len);
        assert_null(reply_at(reply, rows[i].len));
        assert_null(reply_at(reply, SIZE_MAX));
        freeReplyObject(raw);
    }
}

static void null_reads_as_nil(void **state)
{
    (void)state;
    assert_int_equal(reply_kind(NULL), REPLY_NIL);
    assert_null(reply_text(NULL).at);
    assert_int_equal(reply_int(NULL, 3), 3);
    assert_int_equal(reply_len(NULL), 0);
    assert_null(reply_at(NULL, 0));
    assert_false(reply_is_error(NULL, "ERR"));
}

static void nested_elements_are_reached_without_checks_in_between(void **state)
{
    (void)state;
    void *raw;
    const struct redis_reply *reply = parse("*2\r\n*2\r\n+a\r\n:7\r\n$-1\r\n", &raw);
    assert_true(text_is(reply_text(reply_at(reply_at(reply, 0), 0)), "a"));
    assert_int_equal(reply_int(reply_at(reply_at(reply, 0), 1), 0), 7);
    assert_int_equal(reply_kind(reply_at(reply, 1)), REPLY_NIL);
    assert_null(reply_at(reply_at(reply_at(reply, 1), 0), 5));
    freeReplyObject(raw);
}

static void an_error_is_known_by_its_whole_first_word(void **state)
{
    (void)state;
    void *raw;
    const struct redis_reply *reply = parse("-NOGROUP No such key\r\n", &raw);
    assert_true(reply_is_error(reply, "NOGROUP"));
    assert_false(reply_is_error(reply, "NOGRO"));
    assert_false(reply_is_error(reply, "NOGROUP No"));
    freeReplyObject(raw);
    reply = parse("-LOADING\r\n", &raw);
    assert_true(reply_is_error(reply, "LOADING"));
    freeReplyObject(raw);
    reply = parse("+NOGROUP\r\n", &raw);
    assert_false(reply_is_error(reply, "NOGROUP"));
    freeReplyObject(raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_reads_as_what_it_is_and_the_rest_as_nothing),
        cmocka_unit_test(null_reads_as_nil),
        cmocka_unit_test(nested_elements_are_reached_without_checks_in_between),
        cmocka_unit_test(an_error_is_known_by_its_whole_first_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

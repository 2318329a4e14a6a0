#include "common/base/buf.h"
#include "tests/support/unit.h"

static void it_grows_to_its_ceiling_and_not_past_it(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_append(&buf, "x", 1), OK);
    assert_int_equal(buf_append(&buf, "x", 1), ERR_TOO_BIG);
    assert_int_equal(buf.len, 100);
    buf_consume(&buf, 60);
    assert_int_equal(buf.len, 40);
    assert_int_equal(buf_append(&buf, "0123456789012345678901234567890123456789012345678901234567890", 60), OK);
    buf_finish(&buf);
}

static void long_formats_are_written_whole(void **state)
{
    (void)state;
    struct buf buf;
    char long_text[1500];
    memset(long_text, 'y', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    buf_init(&buf, 4096);
    assert_int_equal(buf_format(&buf, "<%s>", long_text), OK);
    assert_int_equal(buf.len, 1501);
    assert_int_equal(buf.data[1500], '>');
    buf_finish(&buf);
}

static void json_strings_are_safe_whatever_comes(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plain", "plain"},
        {"a\"b\\c", "a\\\"b\\\\c"},
        {"\n\r\t\x01\x7f", "\\u000a\\u000d\\u0009\\u0001\\u007f"},
        {"\xed\x95\x9c", "\xed\x95\x9c"},
        {"\xff", "\xef\xbf\xbd"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct buf buf;
        buf_init(&buf, 200);
        assert_int_equal(buf_json(&buf, text_of(rows[i].in)), OK);
        assert_int_equal(buf.len, strlen(rows[i].out));
        assert_memory_equal(buf.data, rows[i].out, buf.len);
        buf_finish(&buf);
    }
}

static void a_json_string_that_does_not_fit_leaves_the_buffer_as_it_was(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 8);
    assert_int_equal(buf_text(&buf, TEXT("ab")), OK);
    assert_int_equal(buf_json(&buf, TEXT("cde\"\"\"")), ERR_TOO_BIG);
    assert_int_equal(buf.len, 2);
    buf_finish(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_grows_to_its_ceiling_and_not_past_it),
        cmocka_unit_test(long_formats_are_written_whole),
        cmocka_unit_test(json_strings_are_safe_whatever_comes),
        cmocka_unit_test(a_json_string_that_does_not_fit_leaves_the_buffer_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "common/line/use.h"
#include "tests/support/redis_words.h"
#include "tests/support/unit.h"

static void by_is_up_to_sixty_four_safe_characters(void **state)
{
    (void)state;
    static const char longest[] = "aZ09_.:-aZ09_.:-aZ09_.:-aZ09_.:-aZ09_.:-aZ09_.:-aZ09_.:-aZ09_.:-x";
    assert_true(use_by_valid((struct text){longest, USE_BY_MAX}));
    assert_false(use_by_valid(text_of(longest)));
    assert_true(use_by_valid(TEXT("a")));
    const char *bad[] = {"", " ", "a b", "a\n", "(released)", "a/b", "\xed\x95\x9c", "a\"", "{a}"};
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_false(use_by_valid(text_of(bad[i])));
}

static void no_answer_is_no_yes(void **state)
{
    (void)state;
    const enum err errs[] = {ERR_TIMEOUT, ERR_LOST, ERR_CANCELED, ERR_REPLY, ERR_UNSENT};
    for (size_t i = 0; i < ROWS(errs); i++)
        assert_int_equal(use_redeemed(errs[i], NULL, TEXT("me"), 0), LINE_FAILED);
    assert_int_equal(use_redeemed(OK, NULL, TEXT("me"), 0), LINE_OK); /* nil: nothing was there */
}

static void the_same_caller_has_a_minute(void **state)
{
    (void)state;
    const struct {
        const char *reply, *by;
        int64_t now_ms;
        enum line_outcome outcome;
    } rows[] = {
        {"$8\r\n1000 abc\r\n", "abc", 1000, LINE_OK},
        {"$8\r\n1000 abc\r\n", "abc", 61000, LINE_OK},
        {"$8\r\n1000 abc\r\n", "abc", 61001, LINE_USED},
        {"$8\r\n1000 abc\r\n", "abc", 999, LINE_OK}, /* the other gateway's clock is ahead */
        {"$8\r\n1000 abc\r\n", "ab", 1000, LINE_USED},
        {"$8\r\n1000 abc\r\n", "", 1000, LINE_USED},
        {"$5\r\n1000 \r\n", "", 1000, LINE_USED},
        {"$15\r\n1000 (released)\r\n", "released", 1000, LINE_USED},
        {"$3\r\nabc\r\n", "abc", 1000, LINE_USED},
        {"$0\r\n\r\n", "abc", 1000, LINE_USED},
        {"$10\r\nx1000 abcd\r\n", "abcd", 1000, LINE_USED},
        {":1\r\n", "abc", 1000, LINE_USED},
        {"*0\r\n", "abc", 1000, LINE_USED},
        {"$-1\r\n", "abc", 1000, LINE_OK},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct redis_reply *reply = reply_parse(rows[i].reply, strlen(rows[i].reply));
        assert_int_equal(use_redeemed(OK, reply, text_of(rows[i].by), rows[i].now_ms), rows[i].outcome);
        reply_words_free(reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_is_up_to_sixty_four_safe_characters),
        cmocka_unit_test(no_answer_is_no_yes),
        cmocka_unit_test(the_same_caller_has_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

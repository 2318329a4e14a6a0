/* The small pure parts: INFO, preconditions, and the counting of failed tokens. */
#include "publisher/admin_body.h"
#include "publisher/guard.h"
#include "publisher/info.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>

static void info_is_read_by_name(void **state)
{
    (void)state;
    struct text info =
        TEXT("# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nempty:\r\nredis:no\r\nmaxmemory:100\r\n");
    assert_true(text_is(info_field(info, "run_id"), "abc"));
    assert_true(text_is(info_field(info, "empty"), ""));
    assert_null(info_field(info, "run").at);
    assert_int_equal(info_number(info, "maxmemory", 7), 100);
    assert_int_equal(info_number(info, "run_id", 7), 7);
    assert_null(info_field((struct text){NULL, 0}, "x").at);
}

static void versions_from_seven_on_fit(void **state)
{
    (void)state;
    assert_true(info_version_fits(TEXT("redis_version:7.0.0\r\n")));
    assert_true(info_version_fits(TEXT("redis_version:10.1\r\n")));
    assert_true(info_version_fits(TEXT("redis_version:6.2.4\r\nvalkey_version:8.0\r\n")));
    assert_false(info_version_fits(TEXT("redis_version:6.2.14\r\n")));
    assert_false(info_version_fits(TEXT("")));
}

static void only_a_policy_with_a_limit_evicts(void **state)
{
    (void)state;
    assert_int_equal(info_memory_policy(TEXT("maxmemory:5\r\nmaxmemory_policy:noeviction\r\n")), MEMORY_SAFE);
    assert_int_equal(info_memory_policy(TEXT("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n")), MEMORY_MAY_EVICT);
    assert_int_equal(info_memory_policy(TEXT("maxmemory:5\r\nmaxmemory_policy:volatile-ttl\r\n")), MEMORY_EVICTS);
}

static void preconditions_become_what_the_script_expects(void **state)
{
    (void)state;
    static const struct {
        const char *match, *none_match;
        bool good;
        const char *expected;
    } rows[] = {
        {NULL, NULL, true, ""},
        {"*", NULL, true, "*"},
        {"\"12\"", NULL, true, "12"},
        {NULL, "*", true, "absent"},
        {"12", NULL, false, ""},
        {"W/\"12\"", NULL, false, ""},
        {"\"\"", NULL, false, ""},
        {"\"0\"", NULL, false, ""},
        {"\"1\", \"2\"", NULL, false, ""},
        {NULL, "\"1\"", false, ""},
        {"*", "*", false, ""},
        {"", NULL, false, ""},
        {"\"99999999999999999999\"", NULL, false, ""},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct admin_condition condition;
        assert_int_equal(admin_condition_parse(text_of(rows[i].match), text_of(rows[i].none_match), &condition),
                         rows[i].good);
        if (rows[i].good) {
            assert_string_equal(condition.expected, rows[i].expected);
            assert_int_equal(condition.given, rows[i].match || rows[i].none_match);
        }
    }
}

static struct sockaddr_in peer(uint32_t number)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(number)}};
}

static void the_sixth_failure_of_an_address_waits(void **state)
{
    (void)state;
    static struct guard guard;
    struct sockaddr_in one = peer(1), other = peer(2);
    guard_init(&guard, NULL);
    for (int i = 0; i < GUARD_FREE; i++)
        assert_false(guard_failed(&guard, (struct sockaddr *)&one, 1000));
    assert_true(guard_failed(&guard, (struct sockaddr *)&one, 1000));
    assert_false(guard_failed(&guard, (struct sockaddr *)&other, 1000));
    assert_false(guard_failed(&guard, (struct sockaddr *)&one, 1001 + GUARD_FORGET_MS)); /* long ago */
    for (int i = 0; i < GUARD_FREE; i++)
        guard_failed(&guard, (struct sockaddr *)&one, 1001 + GUARD_FORGET_MS);
    guard_passed(&guard, (struct sockaddr *)&one);
    assert_false(guard_failed(&guard, (struct sockaddr *)&one, 1002 + GUARD_FORGET_MS));
}

static void past_its_size_the_table_forgets_the_quietest(void **state)
{
    (void)state;
    static struct guard guard;
    struct sockaddr_in first = peer(1);
    guard_init(&guard, NULL);
    for (int i = 0; i <= GUARD_FREE; i++)
        guard_failed(&guard, (struct sockaddr *)&first, 1000);
    for (uint32_t i = 0; i < GUARD_ADDRESSES - 1; i++) {
        struct sockaddr_in next = peer(2 + i);
        guard_failed(&guard, (struct sockaddr *)&next, 2000);
    }
    assert_true(guard_failed(&guard, (struct sockaddr *)&first, 1500)); /* all fit */
    struct sockaddr_in last = peer(100000);
    guard_failed(&guard, (struct sockaddr *)&last, 3000);
    assert_false(guard_failed(&guard, (struct sockaddr *)&first, 3000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_is_read_by_name),
        cmocka_unit_test(versions_from_seven_on_fit),
        cmocka_unit_test(only_a_policy_with_a_limit_evicts),
        cmocka_unit_test(preconditions_become_what_the_script_expects),
        cmocka_unit_test(the_sixth_failure_of_an_address_waits),
        cmocka_unit_test(past_its_size_the_table_forgets_the_quietest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "gateway/limiter.h"
#include "tests/support/unit.h"

#include <stdio.h>

static struct address at(const char *text)
{
    struct address address;
    assert_int_equal(address_parse(text_of(text), &address), OK);
    return address;
}

static void so_many_a_period_and_then_one_at_a_time(void **state)
{
    (void)state;
    struct limiter limiter;
    struct address client = at("1.2.3.4"), other = at("1.2.3.5");
    uint32_t wait;
    limiter_init(&limiter, 5, 10000, 100);
    for (int i = 0; i < 5; i++)
        assert_true(limiter_allow(&limiter, &client, 1000, &wait));
    assert_false(limiter_allow(&limiter, &client, 1000, &wait));
    assert_int_equal(wait, 2000);
    assert_true(limiter_allow(&limiter, &other, 1000, &wait));
    assert_false(limiter_allow(&limiter, &client, 2999, &wait));
    assert_int_equal(wait, 1);
    assert_true(limiter_allow(&limiter, &client, 3000, &wait));
    assert_false(limiter_allow(&limiter, &client, 3000, &wait));
    for (int i = 0; i < 5; i++) /* a long silence fills it up, and not further */
        assert_true(limiter_allow(&limiter, &client, 100000, &wait));
    assert_false(limiter_allow(&limiter, &client, 100000, &wait));
    limiter_finish(&limiter);
}

static void ipv6_counts_by_its_slash_64(void **state)
{
    (void)state;
    struct limiter limiter;
    struct address one = at("2001:db8:0:1::1"), same = at("2001:db8:0:1:ffff::2"), other = at("2001:db8:0:2::1");
    uint32_t wait;
    limiter_init(&limiter, 1, 10000, 100);
    assert_true(limiter_allow(&limiter, &one, 0, &wait));
    assert_false(limiter_allow(&limiter, &same, 0, &wait));
    assert_true(limiter_allow(&limiter, &other, 0, &wait));
    limiter_finish(&limiter);
}

static void addresses_are_bounded_and_the_quietest_is_forgotten(void **state)
{
    (void)state;
    struct limiter limiter;
    char text[20];
    uint32_t wait;
    limiter_init(&limiter, 1, 3600000, 100);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "10.0.%d.%d", i / 250, i % 250);
        struct address address = at(text);
        assert_true(limiter_allow(&limiter, &address, (uint64_t)i, &wait));
        assert_true(limiter.buckets.len <= 100);
    }
    struct address first = at("10.0.0.0"), last = at("10.0.3.249");
    assert_false(limiter_allow(&limiter, &last, 1000, &wait));
    assert_true(limiter_allow(&limiter, &first, 1000, &wait));
    struct address late = at("10.9.9.9");
    assert_true(limiter_allow(&limiter, &late, 1001 + 3600000, &wait));
    assert_int_equal(limiter.buckets.len, 1);
    limiter_finish(&limiter);
}

static void one_address_more_than_the_limit_forgets_one(void **state)
{
    (void)state;
    struct limiter limiter;
    uint32_t wait;
    limiter_init(&limiter, 1, 3600000, LIMITER_ADDRESSES);
    for (uint32_t i = 0; i <= LIMITER_ADDRESSES; i++) {
        struct address address = at("10.0.0.0");
        address.bytes[13] = (uint8_t)(i >> 16);
        address.bytes[14] = (uint8_t)(i >> 8);
        address.bytes[15] = (uint8_t)i;
        if (i == LIMITER_ADDRESSES) { /* all of them fit, and the first is still known */
            struct address first = at("10.0.0.0");
            assert_int_equal(limiter.buckets.len, LIMITER_ADDRESSES);
            assert_false(limiter_allow(&limiter, &first, 1, &wait));
        }
        assert_true(limiter_allow(&limiter, &address, 1, &wait));
    }
    assert_int_equal(limiter.buckets.len, LIMITER_ADDRESSES);
    struct address first = at("10.0.0.0"), second = at("10.0.0.1");
    assert_false(limiter_allow(&limiter, &first, 1, &wait)); /* used a moment ago */
    assert_true(limiter_allow(&limiter, &second, 1, &wait)); /* quiet longest, forgotten */
    limiter_finish(&limiter);
}

static void nobody_is_forgotten_before_the_bucket_is_full(void **state)
{
    (void)state;
    struct limiter limiter;
    struct address client = at("1.2.3.4"), other = at("1.2.3.5");
    uint32_t wait;
    limiter_init(&limiter, 1, 3600000, 100);
    assert_true(limiter_allow(&limiter, &client, 0, &wait));
    assert_true(limiter_allow(&limiter, &other, LIMITER_FORGET_MS + 1, &wait)); /* tidies up */
    assert_false(limiter_allow(&limiter, &client, LIMITER_FORGET_MS + 1, &wait));
    limiter_finish(&limiter);
    limiter_init(&limiter, 5, 10000, 100);
    assert_true(limiter_allow(&limiter, &client, 0, &wait));
    assert_true(limiter_allow(&limiter, &other, LIMITER_FORGET_MS, &wait));
    assert_int_equal(limiter.buckets.len, 2);
    assert_true(limiter_allow(&limiter, &other, LIMITER_FORGET_MS + 1, &wait));
    struct address third = at("1.2.3.6");
    assert_true(limiter_allow(&limiter, &third, LIMITER_FORGET_MS + 1, &wait));
    assert_int_equal(limiter.buckets.len, 2);
    limiter_finish(&limiter);
}

static void off_lets_everybody_through(void **state)
{
    (void)state;
    struct limiter limiter;
    struct address client = at("1.2.3.4");
    uint32_t wait, count, period;
    assert_int_equal(limiter_parse(TEXT("off"), &count, &period), OK);
    limiter_init(&limiter, count, period, 100);
    for (int i = 0; i < 100; i++)
        assert_true(limiter_allow(&limiter, &client, 0, &wait));
    assert_int_equal(limiter.buckets.len, 0);
    limiter_finish(&limiter);
    const char *bad[] = {"", "5", "5/", "/10", "0/10", "5/0", "5/3601", "5/10/1", "a/b", "-1/10"};
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_int_equal(limiter_parse(text_of(bad[i]), &count, &period), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_a_period_and_then_one_at_a_time),
        cmocka_unit_test(ipv6_counts_by_its_slash_64),
        cmocka_unit_test(addresses_are_bounded_and_the_quietest_is_forgotten),
        cmocka_unit_test(one_address_more_than_the_limit_forgets_one),
        cmocka_unit_test(nobody_is_forgotten_before_the_bucket_is_full),
        cmocka_unit_test(off_lets_everybody_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

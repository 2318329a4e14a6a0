#include "common/base/backoff.h"
#include "tests/support/unit.h"

static void waits_double_to_the_ceiling_and_start_over_after_a_reset(void **state)
{
    (void)state;
    struct backoff backoff;
    const uint32_t expected[] = {50, 100, 200, 400, 800, 1600, 3200, 5000, 5000};
    backoff_init(&backoff, 50, 5000);
    for (size_t i = 0; i < ROWS(expected); i++)
        assert_int_equal(backoff_next_ms(&backoff, UINT32_MAX), expected[i]);
    backoff_reset(&backoff);
    assert_int_equal(backoff_next_ms(&backoff, UINT32_MAX), 50);
    assert_int_equal(backoff_next_ms(&backoff, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waits_double_to_the_ceiling_and_start_over_after_a_reset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

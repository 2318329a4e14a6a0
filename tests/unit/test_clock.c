#include "common/base/clock.h"
#include "tests/support/unit.h"

static void instants_are_rfc_3339_in_utc_with_milliseconds(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1, "1970-01-01T00:00:00.001Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1795176000000, "2026-11-20T12:00:00.000Z"},
        {951782400123, "2000-02-29T00:00:00.123Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        char text[CLOCK_RFC3339_SIZE];
        clock_rfc3339(text, rows[i].ms);
        assert_string_equal(text, rows[i].text);
    }
}

static void the_monotonic_clock_never_goes_back(void **state)
{
    (void)state;
    uint64_t last = clock_mono_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = clock_mono_ns();
        assert_true(now >= last);
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants_are_rfc_3339_in_utc_with_milliseconds),
        cmocka_unit_test(the_monotonic_clock_never_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

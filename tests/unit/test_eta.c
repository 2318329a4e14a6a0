#include "common/line/eta.h"
#include "tests/support/line_sim.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>

static struct eta eta(struct pace pace, uint64_t position)
{
    struct eta result;
    assert_true(eta_of(&pace, position, &result));
    assert_true(0 <= result.low && result.low <= result.seconds && result.seconds <= result.high);
    return result;
}

static void without_departures_it_is_position_by_rate_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(eta((struct pace){.rate = 2}, 10).seconds, 5);
    assert_int_equal(eta((struct pace){.rate = 2}, 11).seconds, 6);
    assert_int_equal(eta((struct pace){.rate = 200}, 1).seconds, 1);
}

static void departures_ahead_shorten_it_and_ones_own_does_not_count(void **state)
{
    (void)state;
    struct pace pace = {.rate = 1, .leaving = 0.01};
    assert_int_equal(eta(pace, 1).seconds, 1);
    assert_int_equal(eta(pace, 101).seconds, (int64_t)ceil(log(2) / 0.01 + 1));
    assert_true(eta(pace, 101).high > 101); /* those who are left may all stay */
}

static void what_makes_no_sense_is_unknown(void **state)
{
    (void)state;
    static const struct pace rows[] = {
        {.rate = 0}, {.rate = -1}, {.rate = (double)NAN}, {.rate = (double)INFINITY}, {.rate = 1e-9}};
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct eta result = {1, 2, 3};
        assert_false(eta_of(&rows[i], UINT64_MAX, &result));
        assert_true(result.seconds == 0 && result.low == 0 && result.high == 0);
    }
    struct pace odd = {.rate = 2, .leaving = (double)NAN, .noise = -3, .drift = (double)NAN, .step = (double)INFINITY};
    struct eta plain = eta((struct pace){.rate = 2}, 100), result = eta(odd, 100);
    assert_memory_equal(&result, &plain, sizeof result);
}

static void the_range_grows_with_each_cause_and_an_old_publisher_has_a_wide_one(void **state)
{
    (void)state;
    struct pace sure = {.rate = 2, .drift = 0.05}, rows[] = {sure, sure, sure, {.rate = 2}};
    rows[0].noise = 5;
    rows[1].step = 30;
    rows[2].drift = 0.2;
    struct eta narrow = eta(sure, 200);
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct eta wide = eta(rows[i], 200);
        assert_true(wide.seconds == narrow.seconds && wide.low < narrow.low && wide.high > narrow.high);
    }
}

/* What the range promises, by simulation: the share of true waits inside it, and that it says something. */
static void the_true_wait_is_in_the_range_four_times_of_five(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct sim_settings settings;
        double ratio_max, error_max;
    } rows[] = {
        {"steady, even arrivals", {SIM_STEADY, false, 90, 7200, 1}, 1.5, 0.1},
        {"steady, crowds", {SIM_STEADY, true, 600, 7200, 2}, 1.5, 0.1},
        {"adaptive, even arrivals", {SIM_ADAPTIVE, false, 90, 7200, 3}, 2, 0.2},
        {"adaptive, crowds", {SIM_ADAPTIVE, true, 600, 7200, 4}, 2, 0.2},
        {"bursty, even arrivals", {SIM_BURSTY, false, 90, 7200, 5}, 3, 0.3},
        {"bursty, crowds", {SIM_BURSTY, true, 600, 7200, 6}, 3, 0.3},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        unsigned samples = 0, inside = 0, runs = 5;
        double width = 0, ratio = 0, error = 0;
        for (unsigned run = 0; run < runs; run++) {
            struct sim_settings settings = rows[i].settings;
            struct sim_result result;
            settings.seed += 100 * run;
            sim_run(&settings, &result);
            samples += result.samples;
            inside += result.inside;
            width += result.width / runs;
            ratio += result.ratio / runs;
            error += result.error / runs;
        }
        print_message("%-24s %u waits, %.1f %% inside; width %.2f of the wait, high/low %.2f, ETA off by %.1f %%\n",
                      rows[i].name, samples, 100.0 * inside / samples, width, ratio, 100 * error);
        assert_true(samples > 4000 && inside >= 0.8 * samples);
        assert_true(ratio <= rows[i].ratio_max && error <= rows[i].error_max);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_departures_it_is_position_by_rate_rounded_up),
        cmocka_unit_test(departures_ahead_shorten_it_and_ones_own_does_not_count),
        cmocka_unit_test(what_makes_no_sense_is_unknown),
        cmocka_unit_test(the_range_grows_with_each_cause_and_an_old_publisher_has_a_wide_one),
        cmocka_unit_test(the_true_wait_is_in_the_range_four_times_of_five),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

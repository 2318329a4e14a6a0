#include "publisher/rate.h"
#include "tests/support/unit.h"

/* Looks every STEP ms up to END, BATCH admitted every INTERVAL ms. */
static void run(struct rate *rate, uint64_t *now, uint64_t end, uint64_t step, uint64_t interval, uint64_t batch)
{
    for (; *now < end; *now += step)
        rate_observe(rate, *now, *now % interval == 0 ? batch : 0, true);
}

static void close_to(double value, double expected)
{
    assert_true(value > expected * 0.95 && value < expected * 1.05);
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct rate rate;
    rate_init(&rate);
    assert_true(rate_value(&rate) == 0);
    rate_observe(&rate, 1000, 10, true); /* straight in: says nothing of the pace */
    rate_observe(&rate, 2000, 0, true);
    assert_true(rate_value(&rate) == 0);
}

static void a_steady_pace_is_exact_at_every_moment_between_batches(void **state)
{
    (void)state;
    static const struct {
        uint64_t interval, batch;
        double rate;
    } rows[] = {{5000, 10, 2}, {1000, 1, 1}, {50, 10, 200}, {60000, 600, 10}};
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct rate rate;
        uint64_t now = 0;
        rate_init(&rate);
        run(&rate, &now, 3 * rows[i].interval + 1000, 50, rows[i].interval, rows[i].batch);
        for (int moment = 0; moment < 20; moment++) {
            run(&rate, &now, now + rows[i].interval / 4 + 50, 50, rows[i].interval, rows[i].batch);
            close_to(rate_value(&rate), rows[i].rate);
        }
    }
}

static void a_change_of_pace_is_seen_within_the_window(void **state)
{
    (void)state;
    struct rate rate;
    uint64_t now = 0;
    rate_init(&rate);
    run(&rate, &now, 100000, 100, 1000, 1);
    close_to(rate_value(&rate), 1);
    run(&rate, &now, now + RATE_WINDOW_MS + 2000, 100, 1000, 5);
    close_to(rate_value(&rate), 5);
}

static void silence_slows_it_down(void **state)
{
    (void)state;
    struct rate rate;
    uint64_t now = 0;
    rate_init(&rate);
    run(&rate, &now, 10000, 100, 1000, 4);
    double before = rate_value(&rate);
    for (uint64_t end = now + 20000; now < end; now += 100)
        rate_observe(&rate, now, 0, true);
    assert_true(rate_value(&rate) > 0 && rate_value(&rate) < before / 2);
}

static void time_in_which_nobody_waits_does_not_count(void **state)
{
    (void)state;
    struct rate rate;
    uint64_t now = 0;
    rate_init(&rate);
    run(&rate, &now, 10001, 100, 1000, 2);
    rate_observe(&rate, now, 0, false);
    now += 3600000;
    rate_observe(&rate, now, 1, true); /* came straight in */
    close_to(rate_value(&rate), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(a_steady_pace_is_exact_at_every_moment_between_batches),
        cmocka_unit_test(a_change_of_pace_is_seen_within_the_window),
        cmocka_unit_test(silence_slows_it_down),
        cmocka_unit_test(time_in_which_nobody_waits_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

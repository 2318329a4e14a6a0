#include "publisher/pace.h"
#include "tests/support/unit.h"

#include <math.h>

/* One look: COUNT were admitted, WAITING wait on. */
static void look(struct pace_meter *meter, uint64_t now_ms, uint64_t count, uint64_t waiting)
{
    struct admission admission = {.status = "open",
                                  .phase = "open",
                                  .admitted_now = count,
                                  .waiting = waiting,
                                  .head = 100,
                                  .tail = 100 + waiting};
    pace_observe(meter, now_ms, &admission);
}

/* Looks every STEP ms up to END, BATCH admitted every INTERVAL ms. */
static void run(struct pace_meter *meter, uint64_t *now, uint64_t end, uint64_t step, uint64_t interval, uint64_t batch)
{
    for (; *now < end; *now += step)
        look(meter, *now, *now % interval == 0 ? batch : 0, 1000);
}

static void close_to(double value, double expected)
{
    assert_true(value > expected * 0.95 && value < expected * 1.05);
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct pace_meter meter;
    pace_init(&meter);
    assert_true(pace_value(&meter).rate == 0);
    look(&meter, 1000, 10, 5); /* straight in: says nothing of the pace */
    look(&meter, 2000, 0, 5);
    struct pace pace = pace_value(&meter), zeros = {0};
    assert_memory_equal(&pace, &zeros, sizeof pace);
}

static void a_steady_pace_is_exact_at_every_moment_between_batches(void **state)
{
    (void)state;
    static const struct {
        uint64_t interval, batch;
        double rate;
    } rows[] = {{5000, 10, 2}, {1000, 1, 1}, {50, 10, 200}, {60000, 600, 10}, {3600000, 36, 0.01}};
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct pace_meter meter;
        uint64_t now = 0;
        pace_init(&meter);
        run(&meter, &now, 3 * rows[i].interval + 1000, 50, rows[i].interval, rows[i].batch);
        for (int moment = 0; moment < 20; moment++) {
            run(&meter, &now, now + rows[i].interval / 4 + 50, 50, rows[i].interval, rows[i].batch);
            struct pace pace = pace_value(&meter);
            close_to(pace.rate, rows[i].rate);
            close_to(pace.step, (double)rows[i].interval / 1000);
        }
    }
}

static void the_steadier_and_the_longer_known_the_surer(void **state)
{
    (void)state;
    struct pace_meter steady, bursty;
    uint64_t a = 0, b = 0;
    pace_init(&steady);
    pace_init(&bursty);
    run(&steady, &a, 30000, 500, 5000, 10);
    struct pace early = pace_value(&steady);
    run(&steady, &a, 600000, 500, 5000, 10);
    struct pace late = pace_value(&steady);
    for (; b < 600000; b += 500) /* the same rate: 100 in each other half minute */
        look(&bursty, b, b % 5000 == 0 && b % 60000 < 30000 ? 20 : 0, 1000);
    assert_true(late.noise < early.noise && late.drift < early.drift);
    assert_true(late.noise < 0.1 && late.drift < 0.06);
    close_to(pace_value(&bursty).rate, 2);
    assert_true(pace_value(&bursty).noise > 5 && pace_value(&bursty).drift > 2 * late.drift);
}

static void chunks_of_one_batch_are_one_step(void **state)
{
    (void)state;
    struct pace_meter meter;
    pace_init(&meter);
    for (uint64_t now = 0; now <= 100000; now += 10000)
        for (uint64_t chunk = 0; chunk < 3; chunk++)
            look(&meter, now + chunk * 20, 400, 10000);
    close_to(pace_value(&meter).rate, 120);
    close_to(pace_value(&meter).step, 10);
}

static void a_change_of_pace_is_seen_within_the_window(void **state)
{
    (void)state;
    struct pace_meter meter;
    uint64_t now = 0;
    pace_init(&meter);
    run(&meter, &now, 1000000, 100, 1000, 1);
    close_to(pace_value(&meter).rate, 1);
    run(&meter, &now, now + PACE_WINDOW_MS + 2000, 100, 1000, 5);
    close_to(pace_value(&meter).rate, 5);
    run(&meter, &now, now + PACE_WINDOW_MS + 2000, 100, 1000, 4);
    close_to(pace_value(&meter).rate, 4);
}

static void silence_slows_it_down_and_makes_it_unsure(void **state)
{
    (void)state;
    struct pace_meter meter;
    uint64_t now = 0;
    pace_init(&meter);
    run(&meter, &now, 10000, 100, 1000, 4);
    struct pace before = pace_value(&meter);
    for (uint64_t end = now + 20000; now < end; now += 100)
        look(&meter, now, 0, 1000);
    struct pace after = pace_value(&meter);
    assert_true(after.rate > 0 && after.rate < before.rate / 2 && after.noise > 10 * before.noise);
}

static void time_in_which_nobody_waits_or_may_be_admitted_does_not_count(void **state)
{
    (void)state;
    struct pace_meter meter;
    uint64_t now = 0;
    pace_init(&meter);
    run(&meter, &now, 10001, 100, 1000, 2);
    look(&meter, now, 0, 0);
    now += 3600000;
    look(&meter, now, 1, 5); /* came straight in */
    close_to(pace_value(&meter).rate, 2);
    struct admission paused = {.status = "paused", .phase = "open", .waiting = 5};
    pace_observe(&meter, now + 100, &paused);
    look(&meter, now + 3600000, 2, 5);
    close_to(pace_value(&meter).rate, 2);
}

/* COUNT departures at tickets AT a second, of 1,000 who wait with tickets 1001 to 2000. */
static double leaving(uint64_t at, size_t count, bool many)
{
    struct pace_meter meter;
    uint64_t tickets[8] = {at, at, at, at, at, at, at, at};
    pace_init(&meter);
    for (uint64_t now = 0; now < 600000; now += 1000) {
        struct admission admission = {.status = "open",
                                      .phase = "open",
                                      .admitted_now = 1,
                                      .waiting = 1000,
                                      .head = 1000,
                                      .tail = 2000,
                                      .departed = tickets,
                                      .departed_count = count,
                                      .departed_many = many};
        pace_observe(&meter, now, &admission);
    }
    return pace_value(&meter).leaving;
}

static void departures_count_by_how_many_wait_behind_them(void **state)
{
    (void)state;
    assert_true(fabs(leaving(1500, 4, false) - 0.004) < 0.0001); /* the middle: as if from all over the line */
    assert_true(fabs(leaving(1001, 4, false) - 0.008) < 0.0001);
    assert_true(leaving(2000, 4, false) == 0);
    assert_true(leaving(1500, 0, false) == 0);
    assert_true(leaving(1500, 4, true) == 0);                   /* not known which */
    assert_true(fabs(leaving(900, 4, false) - 0.008) < 0.0001); /* passed by the head in the same tick */
    assert_true(leaving(3000, 4, false) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(a_steady_pace_is_exact_at_every_moment_between_batches),
        cmocka_unit_test(the_steadier_and_the_longer_known_the_surer),
        cmocka_unit_test(chunks_of_one_batch_are_one_step),
        cmocka_unit_test(a_change_of_pace_is_seen_within_the_window),
        cmocka_unit_test(silence_slows_it_down_and_makes_it_unsure),
        cmocka_unit_test(time_in_which_nobody_waits_or_may_be_admitted_does_not_count),
        cmocka_unit_test(departures_count_by_how_many_wait_behind_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

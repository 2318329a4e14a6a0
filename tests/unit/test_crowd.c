#include "publisher/crowd.h"
#include "tests/support/unit.h"

/* Sends what is due each STEP ms up to END; everything comes back at once. */
static uint32_t run(struct crowd_plan *plan, uint64_t *now, uint64_t end, uint64_t step)
{
    uint32_t most = 0;
    for (; *now < end; *now += step) {
        uint32_t due = crowd_plan_due(plan, *now);
        most = due > most ? due : most;
        for (uint32_t i = 0; i < due; i++)
            crowd_plan_done(plan, true);
    }
    return most;
}

static void the_pace_is_kept_and_the_count_is_exact(void **state)
{
    (void)state;
    static const struct {
        uint32_t count, per_second;
    } rows[] = {{1000, 200}, {5, 1}, {1000000, 20000}, {1, 20000}, {7, 3}};
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct crowd_plan plan = {.count = rows[i].count, .per_second = rows[i].per_second};
        uint64_t now = 0, whole_ms = (uint64_t)rows[i].count * 1000 / rows[i].per_second;
        run(&plan, &now, whole_ms / 2, CROWD_STEP_MS);
        assert_in_range(plan.made, plan.count / 2 > 400 ? plan.count / 2 - 400 : 0, plan.count / 2 + 1);
        run(&plan, &now, whole_ms + 1000 + 2 * CROWD_STEP_MS, CROWD_STEP_MS);
        assert_int_equal(plan.made, plan.count);
        assert_int_equal(crowd_plan_due(&plan, now + 1000000), 0);
    }
}

static void after_a_standstill_a_second_is_made_up_for_and_no_more(void **state)
{
    (void)state;
    struct crowd_plan plan = {.count = 100000, .per_second = 400};
    uint64_t now = 0;
    run(&plan, &now, 1001, CROWD_STEP_MS);
    uint32_t before = plan.made;
    now += 3600000;
    run(&plan, &now, now + 1, CROWD_STEP_MS);
    assert_int_equal(plan.made - before, 400);
}

static void what_is_under_way_is_bounded_and_what_was_not_sent_is_made_later(void **state)
{
    (void)state;
    struct crowd_plan plan = {.count = CROWD_WINDOW + 10, .per_second = CROWD_PER_SECOND_MAX};
    assert_int_equal(crowd_plan_due(&plan, 1000), CROWD_WINDOW);
    assert_int_equal(crowd_plan_due(&plan, 2000), 0);
    crowd_plan_done(&plan, false);
    assert_int_equal(crowd_plan_due(&plan, 3000), 1);
    while (plan.under_way > 0)
        crowd_plan_done(&plan, true);
    assert_int_equal(crowd_plan_due(&plan, 4000), 10);
    while (plan.under_way > 0)
        crowd_plan_done(&plan, true);
    assert_int_equal(plan.made, plan.count);
    assert_int_equal(crowd_plan_due(&plan, 5000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pace_is_kept_and_the_count_is_exact),
        cmocka_unit_test(after_a_standstill_a_second_is_made_up_for_and_no_more),
        cmocka_unit_test(what_is_under_way_is_bounded_and_what_was_not_sent_is_made_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "publisher/promise.h"
#include "tests/support/unit.h"

#include <math.h>

static const struct pace pace = {.rate = 2, .drift = 0.05};

static void look(struct promise *promise, uint64_t now_ms, uint64_t epoch, uint64_t head, uint64_t tail)
{
    struct admission admission = {.rev = {epoch, 1}, .head = head, .tail = tail, .waiting = tail - head};
    promise_observe(promise, &pace, now_ms, &admission);
}

static void what_was_told_at_the_join_is_compared_with_what_it_took(void **state)
{
    (void)state;
    struct promise promise = {0};
    look(&promise, 0, 7, 0, 100);
    assert_int_equal(promise.ticket, 0); /* nobody was seen to join */
    look(&promise, 1000, 7, 0, 200);
    assert_int_equal(promise.ticket, 200);
    assert_true(promise.told_s == 100);
    look(&promise, 50000, 7, 100, 300); /* one at a time */
    assert_int_equal(promise.ticket, 200);
    assert_int_equal(promise.kept, 0);
    look(&promise, 81000, 7, 205, 300);
    assert_int_equal(promise.kept, 1);
    assert_true(fabs(promise.error - 0.2) < 0.001);
    assert_int_equal(promise.ticket, 0);
    look(&promise, 82000, 7, 205, 301);
    assert_int_equal(promise.ticket, 301);
    look(&promise, 130000, 7, 301, 301); /* told 48: exactly */
    assert_int_equal(promise.kept, 2);
    assert_true(fabs(promise.error - 0.15) < 0.001);
}

static void a_line_that_was_emptied_or_replaced_proves_nothing(void **state)
{
    (void)state;
    struct promise promise = {0};
    look(&promise, 0, 7, 0, 100);
    look(&promise, 1000, 7, 0, 200);
    look(&promise, 2000, 8, 300, 400); /* a new epoch, higher numbers */
    assert_int_equal(promise.ticket, 0);
    look(&promise, 3000, 8, 300, 500);
    assert_int_equal(promise.ticket, 500);
    struct admission emptied = {.rev = {8, 2}, .head = 300, .base = 500, .tail = 500};
    promise_observe(&promise, &pace, 4000, &emptied);
    assert_int_equal(promise.ticket, 0);
    assert_int_equal(promise.kept, 0);
}

static void without_a_rate_nothing_is_promised(void **state)
{
    (void)state;
    struct pace unknown = {.rate = 0};
    struct promise promise = {0};
    for (uint64_t tail = 1; tail < 5; tail++) {
        struct admission admission = {.rev = {7, 1}, .tail = tail, .waiting = tail};
        promise_observe(&promise, &unknown, 0, &admission);
    }
    assert_int_equal(promise.ticket, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_at_the_join_is_compared_with_what_it_took),
        cmocka_unit_test(a_line_that_was_emptied_or_replaced_proves_nothing),
        cmocka_unit_test(without_a_rate_nothing_is_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

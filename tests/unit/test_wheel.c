#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/wheel.h"

static size_t pop_all(struct wheel *wheel)
{
    size_t count = 0;
    while (wheel_pop(wheel))
        count++;
    return count;
}

static void a_deadline_is_never_early_and_at_most_a_tick_late(void **state)
{
    (void)state;
    for (uint64_t due = 1000; due < 1200; due += 7) {
        struct wheel wheel;
        struct wheel_node node;
        wheel_init(&wheel, 50, 990);
        wheel_node_init(&node);
        wheel_set(&wheel, &node, due);
        uint64_t now = 990;
        while (pop_all(&wheel) == 0)
            wheel_advance(&wheel, ++now);
        assert_true(now >= due && now <= due + 50);
        assert_int_equal(wheel.armed, 0);
    }
}

static void deadlines_beyond_the_ring_wait_for_their_round(void **state)
{
    struct wheel wheel;
    struct wheel_node node;
    (void)state;
    wheel_init(&wheel, 10, 0);
    wheel_node_init(&node);
    wheel_set(&wheel, &node, 10 * 3 * WHEEL_BUCKETS);
    for (uint64_t now = 0; now < 10 * 3 * WHEEL_BUCKETS; now += 10) {
        wheel_advance(&wheel, now);
        assert_null(wheel_pop(&wheel));
    }
    wheel_advance(&wheel, 10 * 3 * WHEEL_BUCKETS + 10);
    assert_ptr_equal(wheel_pop(&wheel), &node);
}

static void a_long_sleep_of_the_loop_loses_none(void **state)
{
    struct wheel wheel;
    struct wheel_node nodes[600];
    (void)state;
    wheel_init(&wheel, 10, 0);
    for (size_t i = 0; i < 600; i++) {
        wheel_node_init(&nodes[i]);
        wheel_set(&wheel, &nodes[i], i * 10);
    }
    wheel_advance(&wheel, 100000);
    assert_int_equal(pop_all(&wheel), 600);
}

static void a_node_may_be_moved_and_cancelled_even_when_due(void **state)
{
    struct wheel wheel;
    struct wheel_node a, b;
    (void)state;
    wheel_init(&wheel, 10, 0);
    wheel_node_init(&a);
    wheel_node_init(&b);
    wheel_set(&wheel, &a, 20);
    wheel_set(&wheel, &b, 20);
    wheel_set(&wheel, &b, 20);
    assert_int_equal(wheel.armed, 2);
    wheel_advance(&wheel, 100);
    wheel_cancel(&wheel, &a);
    wheel_cancel(&wheel, &a);
    wheel_set(&wheel, &b, 50); /* gone by: the next tick */
    assert_null(wheel_pop(&wheel));
    wheel_advance(&wheel, 110);
    assert_ptr_equal(wheel_pop(&wheel), &b);
    assert_false(wheel_armed(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_is_never_early_and_at_most_a_tick_late),
        cmocka_unit_test(deadlines_beyond_the_ring_wait_for_their_round),
        cmocka_unit_test(a_long_sleep_of_the_loop_loses_none),
        cmocka_unit_test(a_node_may_be_moved_and_cancelled_even_when_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

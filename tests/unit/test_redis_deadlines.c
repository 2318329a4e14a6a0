#include "common/redis/deadlines.h"

#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define COUNT 2000

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void deadlines_come_out_in_order_whatever_is_removed_in_between(void **state)
{
    (void)state;
    static struct deadline nodes[COUNT];
    struct deadlines deadlines = {0};
    uint32_t seed = 1;
    size_t left = COUNT;
    for (size_t i = 0; i < COUNT; i++) {
        nodes[i].at_ms = next_random(&seed) % 500;
        assert_int_equal(redis_deadlines_add(&deadlines, &nodes[i]), OK);
    }
    for (size_t i = 0; i < COUNT; i += 3, left--) {
        redis_deadlines_remove(&deadlines, &nodes[i]);
        redis_deadlines_remove(&deadlines, &nodes[i]);
    }
    uint64_t last = 0;
    for (struct deadline *first; (first = redis_deadlines_first(&deadlines)); left--) {
        assert_true(first->at_ms >= last);
        last = first->at_ms;
        redis_deadlines_remove(&deadlines, first);
    }
    assert_int_equal(left, 0);
    redis_deadlines_finish(&deadlines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines_come_out_in_order_whatever_is_removed_in_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

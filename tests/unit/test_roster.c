#include "gateway/roster.h"
#include "tests/support/unit.h"

#include <stdlib.h>

struct place {
    size_t index;
};

static void moved(struct place *place, size_t index)
{
    place->index = index;
}

static void rows_are_in_ticket_order_after_tidying_and_know_where_they_are(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static struct place places[COUNT];
    struct roster roster;
    roster_init(&roster, moved);
    srand(3);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(roster_add(&roster, (uint64_t)((i * 7919) % COUNT + 1), &places[i]), OK);
    for (size_t i = 0; i < COUNT; i += 3)
        roster_remove(&roster, places[i].index);
    size_t left = COUNT - (COUNT + 2) / 3;
    assert_int_equal(roster_count(&roster), left);
    roster_tidy(&roster);
    assert_int_equal(roster.len, left);
    for (size_t i = 0; i < roster.len; i++) {
        assert_int_equal(roster.rows[i].place->index, i);
        assert_true(i == 0 || roster.rows[i].ticket > roster.rows[i - 1].ticket);
    }
    while (roster_count(&roster) > 0)
        roster_remove(&roster, roster.len - 1);
    assert_int_equal(roster.len, 0);
    roster_finish(&roster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_in_ticket_order_after_tidying_and_know_where_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "gateway/positions.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { TICKETS = 3000 };

/* The same line kept the slow way. */
struct slow {
    bool departed[TICKETS + 1];
    uint64_t head, base, tail;
};

static uint64_t slow_position(const struct slow *slow, uint64_t ticket)
{
    uint64_t front = slow->head > slow->base ? slow->head : slow->base, position = 0;
    if (ticket <= front || slow->departed[ticket])
        return 0;
    for (uint64_t t = front + 1; t <= ticket; t++)
        position += !slow->departed[t];
    return position;
}

static void assert_same(const struct positions *positions, const struct slow *slow)
{
    struct positions_walk walk;
    positions_walk_start(positions, &walk);
    for (uint64_t t = 1; t <= slow->tail; t++) {
        uint64_t expected = slow_position(slow, t);
        assert_int_equal(positions_of(positions, t), expected);
        uint64_t walked = positions_walk_to(positions, &walk, t);
        assert_true(walked == expected || (expected == 0 && positions_departed(positions, t)));
    }
}

static void every_position_equals_counting_by_hand(void **state)
{
    (void)state;
    static struct slow slow;
    struct positions positions;
    char list[65536];
    positions_init(&positions);
    srand(7);
    for (uint64_t rev = 1; rev <= 150; rev++) {
        size_t len = 0;
        uint64_t last = 0;
        slow.tail += (uint64_t)(rand() % 40);
        if (slow.tail > TICKETS)
            slow.tail = TICKETS;
        slow.head += (uint64_t)(rand() % 12);
        if (slow.head > slow.tail)
            slow.head = slow.tail;
        list[0] = '\0';
        for (uint64_t t = slow.head + 1; t <= slow.tail; t++) {
            if (slow.departed[t] || rand() % 25)
                continue;
            slow.departed[t] = true;
            len += (size_t)snprintf(list + len, sizeof list - len, last ? ",+%d" : "%d", (int)(t - last));
            last = t;
        }
        if (rand() % 30 == 0)
            slow.base = slow.tail; /* the line was empty */
        assert_int_equal(positions_advance(&positions, rev, slow.base, slow.head, slow.tail, 0, text_of(list)), OK);
        assert_same(&positions, &slow);
    }
    positions_finish(&positions);
}

static void a_picture_gives_the_same_as_the_announcements(void **state)
{
    (void)state;
    static struct slow slow = {.head = 13, .base = 8, .tail = 200};
    struct positions positions;
    char bits[32] = {0};
    positions_init(&positions);
    for (uint64_t t = 9; t <= 200; t += 7) { /* bit 0 of the picture is ticket 8 */
        slow.departed[t] = true;
        bits[(t - 8) / 8] = (char)(bits[(t - 8) / 8] | 0x80 >> ((t - 8) % 8));
    }
    struct positions_picture picture = {
        .epoch = 5, .rev = 9, .base = 8, .head = 13, .tail = 200, .first = 8, .bits = {bits, sizeof bits}};
    assert_int_equal(positions_load(&positions, &picture), OK);
    assert_same(&positions, &slow);
    positions_finish(&positions);
}

static void malformed_or_impossible_lists_change_nothing(void **state)
{
    (void)state;
    struct positions positions;
    const char *bad[] = {"+1", "1,2", "0", "1,+0", "x", "1,+", "101", "5,+96", ",", "1,"};
    positions_init(&positions);
    assert_int_equal(positions_advance(&positions, 1, 0, 0, 100, 100, TEXT("")), OK);
    for (size_t i = 0; i < ROWS(bad); i++) {
        assert_int_equal(positions_advance(&positions, 2, 0, 0, 100, 100, text_of(bad[i])), ERR_INVALID);
        assert_int_equal(positions.rev, 1);
        assert_int_equal(positions_of(&positions, 100), 100);
    }
    positions_finish(&positions);
}

static void a_line_too_long_for_its_ceiling_is_refused(void **state)
{
    (void)state;
    struct positions positions;
    positions_init(&positions);
    assert_int_equal(positions_advance(&positions, 1, 0, 0, 1ull << 40, 1, TEXT("1099511627776")), ERR_TOO_BIG);
    positions_finish(&positions);
}

static void bits_far_behind_the_head_are_given_back(void **state)
{
    (void)state;
    struct positions positions;
    positions_init(&positions);
    for (uint64_t rev = 1; rev <= 400; rev++) {
        char list[32];
        uint64_t head = rev * 5000;
        snprintf(list, sizeof list, "%d", (int)head + 3);
        assert_int_equal(positions_advance(&positions, rev, 0, head, head + 100, 100, text_of(list)), OK);
        assert_int_equal(positions_of(&positions, head + 100), 99);
    }
    assert_true(positions.word_count <= 4096);
    positions_finish(&positions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_position_equals_counting_by_hand),
        cmocka_unit_test(a_picture_gives_the_same_as_the_announcements),
        cmocka_unit_test(malformed_or_impossible_lists_change_nothing),
        cmocka_unit_test(a_line_too_long_for_its_ceiling_is_refused),
        cmocka_unit_test(bits_far_behind_the_head_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

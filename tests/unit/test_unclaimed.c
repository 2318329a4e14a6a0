#include "gateway/unclaimed.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

static struct message entry_for(int number, char place[PLACE_ID_LEN + 1])
{
    snprintf(place, PLACE_ID_LEN + 1, "%022d", number);
    return (struct message){
        .type = MESSAGE_ENTRY, .place = text_of(place), .token = TEXT("a.b.c"), .admitted_ms = number};
}

static void a_message_waits_for_its_connection_once(void **state)
{
    (void)state;
    struct unclaimed unclaimed;
    char place[PLACE_ID_LEN + 1];
    struct message message = entry_for(7, place);
    unclaimed_init(&unclaimed);
    unclaimed_keep(&unclaimed, &message, 0);
    unclaimed_keep(&unclaimed, &message, 0);
    struct unclaimed_entry *entry = unclaimed_take(&unclaimed, text_of(place));
    assert_non_null(entry);
    assert_int_equal(entry->admitted_ms, 7);
    assert_memory_equal(entry->token, "a.b.c", entry->token_len);
    free(entry);
    assert_null(unclaimed_take(&unclaimed, text_of(place)));
    unclaimed_finish(&unclaimed);
}

static void it_holds_so_many_for_so_long(void **state)
{
    (void)state;
    struct unclaimed unclaimed;
    char place[PLACE_ID_LEN + 1];
    unclaimed_init(&unclaimed);
    for (int i = 0; i < UNCLAIMED_MAX + 5; i++) {
        struct message message = entry_for(i, place);
        unclaimed_keep(&unclaimed, &message, 0);
    }
    assert_int_equal(unclaimed.entries.len, UNCLAIMED_MAX);
    struct message first = entry_for(0, place);
    assert_null(unclaimed_take(&unclaimed, first.place));
    struct message late = entry_for(99999, place);
    unclaimed_keep(&unclaimed, &late, UNCLAIMED_MS + 1);
    assert_int_equal(unclaimed.entries.len, 1);
    unclaimed_finish(&unclaimed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_waits_for_its_connection_once),
        cmocka_unit_test(it_holds_so_many_for_so_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

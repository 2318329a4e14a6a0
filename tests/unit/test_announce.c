#include "publisher/announce.h"
#include "tests/support/unit.h"

static void departures_are_a_sorted_list_of_gaps(void **state)
{
    (void)state;
    uint64_t tickets[] = {142, 131, 133};
    struct admission admission = {.departed = tickets, .departed_count = 3};
    char list[DEPARTED_SIZE];
    assert_true(text_is(announce_departed(&admission, list), "131,+2,+9"));
    admission.departed_count = 0;
    assert_true(text_is(announce_departed(&admission, list), ""));
    admission.departed_many = true;
    assert_true(text_is(announce_departed(&admission, list), "*"));
}

static void a_list_that_does_not_fit_asks_for_a_picture(void **state)
{
    (void)state;
    static uint64_t tickets[4096];
    struct admission admission = {.departed = tickets};
    char list[DEPARTED_SIZE];
    for (size_t i = 0; i < ROWS(tickets); i++)
        tickets[i] = i + 1;
    admission.departed_count = DEPARTED_SIZE / 3; /* "1" and ",+1" */
    struct text fits = announce_departed(&admission, list);
    assert_true(fits.len > 1 && fits.len < DEPARTED_SIZE);
    admission.departed_count = ROWS(tickets);
    assert_true(text_is(announce_departed(&admission, list), "*"));
}

static void a_state_message_says_what_the_tick_found(void **state)
{
    (void)state;
    struct admission admission = {.rev = {5, 6},
                                  .base = 1,
                                  .head = 2,
                                  .tail = 9,
                                  .waiting = 7,
                                  .lobby = 40,
                                  .admitted_all = 12,
                                  .phase = "open",
                                  .status = "paused"};
    struct message_command command;
    struct pace pace = {.rate = 1.5, .leaving = 0.00025, .noise = 12, .drift = 0.125, .step = 5};
    struct message message = announce_state(&admission, TEXT("s"), &pace, TEXT("3"));
    message_encode(&command, "p:", TEXT("gw.boot"), &message);
    static const char *const expected[] = {"XADD",
                                           "p:server:gw:stream",
                                           "NOMKSTREAM",
                                           "MAXLEN",
                                           "~",
                                           "65536",
                                           "*",
                                           "type",
                                           "waiting-state",
                                           "session",
                                           "s",
                                           "epoch",
                                           "5",
                                           "rev",
                                           "6",
                                           "phase",
                                           "open",
                                           "status",
                                           "paused",
                                           "base",
                                           "1",
                                           "head",
                                           "2",
                                           "tail",
                                           "9",
                                           "waiting",
                                           "7",
                                           "departed",
                                           "3",
                                           "lobby",
                                           "40",
                                           "entered",
                                           "12",
                                           "rate",
                                           "1.500",
                                           "leaving",
                                           "0.000250",
                                           "noise",
                                           "12.000",
                                           "drift",
                                           "0.125",
                                           "step",
                                           "5.000"};
    assert_int_equal(command.count, ROWS(expected));
    for (size_t i = 0; i < command.count; i++)
        assert_true(text_is(command.args[i], expected[i]));
}

static void an_entry_message_has_the_times_of_the_stored_token(void **state)
{
    (void)state;
    struct outbox_place place = {.place = "AAAAAAAAAAAAAAAAAAAAAA", .ticket = 4, .expires_s = 1};
    struct admission admission = {.rev = {5, 6}, .now_ms = 777};
    struct message message;
    struct text token = TEXT("eyJhbGciOiJIUzI1NiJ9.eyJpYXQiOjEwLCJleHAiOjIwfQ.c2ln"); /* iat 10, exp 20 */
    assert_int_equal(announce_entry(&admission, TEXT("s"), &place, token, &message), OK);
    assert_int_equal(message.expires_s, 20);
    assert_int_equal(message.admitted_ms, 777);
    assert_int_equal(message.ticket, 4);
    assert_int_not_equal(announce_entry(&admission, TEXT("s"), &place, TEXT("garbage"), &message), OK);
}

static void who_left_is_who_did_not_expire(void **state)
{
    (void)state;
    struct admission admission = {.departed_count = 5, .expired = 2};
    assert_int_equal(announce_left(&admission), 3);
    admission.expired = 6; /* the list is of another tick */
    assert_int_equal(announce_left(&admission), 0);
    admission = (struct admission){.departed_many = true, .departed_count = 5};
    assert_int_equal(announce_left(&admission), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(departures_are_a_sorted_list_of_gaps),
        cmocka_unit_test(a_list_that_does_not_fit_asks_for_a_picture),
        cmocka_unit_test(a_state_message_says_what_the_tick_found),
        cmocka_unit_test(an_entry_message_has_the_times_of_the_stored_token),
        cmocka_unit_test(who_left_is_who_did_not_expire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

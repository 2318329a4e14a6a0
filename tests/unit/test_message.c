#include "common/line/message.h"
#include "tests/support/redis_words.h"
#include "tests/support/unit.h"

#define PLACE "abcdefghijklmnopqrstuv"

/* Decodes what ENCODE made: the arguments behind "*" are the fields. */
static void decode_again(const struct message *message, struct message *out, struct redis_reply **reply)
{
    struct message_command command;
    const char *words[MESSAGE_ARGS_MAX + 1] = {NULL};
    static char copies[MESSAGE_ARGS_MAX][256];
    message_encode(&command, "", TEXT("gw.boot"), message);
    assert_true(text_is(command.args[1], "server:gw:stream"));
    assert_true(text_is(command.args[2], "NOMKSTREAM"));
    assert_true(text_is(command.args[6], "*"));
    for (size_t i = 7; i < command.count; i++) {
        assert_int_equal(text_copy(copies[i], sizeof copies[i], command.args[i]), OK);
        words[i - 7] = copies[i];
    }
    *reply = reply_words(words);
    assert_int_equal(message_decode(*reply, out), OK);
}

static void what_is_encoded_decodes_to_the_same(void **state)
{
    (void)state;
    struct redis_reply *reply;
    struct message out, in = {.type = MESSAGE_WAITING_STATE,
                              .session = TEXT("s"),
                              .epoch = 17,
                              .rev = 3,
                              .base = 1,
                              .head = 120,
                              .tail = 990,
                              .waiting = 850,
                              .lobby = 40,
                              .admitted = 12,
                              .pace = {2.5, 0.25, 7, 0.125, 5},
                              .phase = TEXT("open"),
                              .status = TEXT("paused"),
                              .departed = TEXT("131,+2,+9")};
    decode_again(&in, &out, &reply);
    assert_int_equal(out.type, MESSAGE_WAITING_STATE);
    assert_true(out.epoch == 17 && out.rev == 3 && out.base == 1 && out.head == 120 && out.tail == 990 &&
                out.waiting == 850 && out.lobby == 40 && out.admitted == 12);
    assert_true(memcmp(&out.pace, &in.pace, sizeof in.pace) == 0 && text_is(out.status, "paused") &&
                text_is(out.departed, "131,+2,+9"));
    reply_words_free(reply);
    in = (struct message){.type = MESSAGE_ENTRY,
                          .session = TEXT("s"),
                          .epoch = 17,
                          .place = TEXT(PLACE),
                          .ticket = 121,
                          .token = TEXT("a.b.c"),
                          .expires_s = 5,
                          .admitted_ms = 4000};
    decode_again(&in, &out, &reply);
    assert_true(text_is(out.place, PLACE) && text_is(out.token, "a.b.c") && out.ticket == 121 && out.expires_s == 5 &&
                out.admitted_ms == 4000);
    reply_words_free(reply);
    in = (struct message){
        .type = MESSAGE_CLOSED, .session = TEXT("s"), .epoch = 1, .reason = TEXT("cleared"), .tail = 9};
    decode_again(&in, &out, &reply);
    assert_true(text_is(out.reason, "cleared") && out.tail == 9 && !out.place.at);
    reply_words_free(reply);
    in = (struct message){.type = MESSAGE_SUPERSEDED, .session = TEXT("s"), .epoch = 1, .place = TEXT(PLACE), .gen = 4};
    decode_again(&in, &out, &reply);
    assert_int_equal(out.gen, 4);
    reply_words_free(reply);
    in = (struct message){
        .type = MESSAGE_DRAWN, .session = TEXT("s"), .epoch = 1, .places = TEXT(PLACE ":7," PLACE ":8")};
    decode_again(&in, &out, &reply);
    assert_true(out.type == MESSAGE_DRAWN && text_is(out.places, PLACE ":7," PLACE ":8"));
    reply_words_free(reply);
    in = (struct message){
        .type = MESSAGE_NOTICE, .session = TEXT("s"), .epoch = 1, .text = TEXT(""), .at_ms = 1700000000000};
    decode_again(&in, &out, &reply);
    assert_true(out.type == MESSAGE_NOTICE && out.text.at && out.text.len == 0 && out.at_ms == 1700000000000);
    reply_words_free(reply);
}

static void a_drawn_list_is_walked_as_far_as_it_makes_sense(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        size_t places;
    } rows[] = {
        {PLACE ":1," PLACE ":2," PLACE ":9007199254740992", 3},
        {"", 0},
        {PLACE, 0},
        {PLACE ":", 0},
        {PLACE ":0", 0},
        {PLACE ":-1", 0},
        {PLACE ":1," PLACE ":x," PLACE ":3", 1},
        {PLACE ":1,,", 1},
        {"short:1", 0},
        {PLACE ":1:2", 0},
        {PLACE ":9007199254740993", 0},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct text rest = text_of(rows[i].list), place;
        uint64_t ticket;
        size_t count = 0;
        while (drawn_next(&rest, &place, &ticket)) {
            count++;
            assert_true(text_is(place, PLACE));
        }
        assert_int_equal(count, rows[i].places);
    }
}

/* An older publisher tells only its rate, a newer one more than we know. */
static void the_pace_of_other_versions_is_taken_as_far_as_it_goes(void **state)
{
    (void)state;
    static const struct {
        const char *words[24];
        enum err err;
        struct pace pace;
    } rows[] = {
        {{"type", "waiting-state", "session", "s", "epoch", "1", "rev", "1", "rate", "2.500", NULL}, OK, {.rate = 2.5}},
        {{"type", "waiting-state", "session", "s", "epoch", "1", "rev", "1", NULL}, OK, {.rate = 0}},
        {{"type", "waiting-state", "session", "s", "epoch", "1", "rev", "1", "step", "5", "mood", "good", NULL},
         OK,
         {.step = 5}},
        {{"type", "waiting-state", "session", "s", "epoch", "1", "rev", "1", "noise", "inf", NULL},
         ERR_INVALID,
         {.rate = 0}},
        {{"type", "waiting-state", "session", "s", "epoch", "1", "rev", "1", "leaving", "", NULL},
         ERR_INVALID,
         {.rate = 0}},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct message message;
        struct redis_reply *reply = reply_words(rows[i].words);
        assert_int_equal(message_decode(reply, &message), rows[i].err);
        if (rows[i].err == OK)
            assert_memory_equal(&message.pace, &rows[i].pace, sizeof message.pace);
        reply_words_free(reply);
    }
}

static void poisoned_entries_are_refused_and_unknown_ones_tolerated(void **state)
{
    (void)state;
    static const struct {
        const char *words[16];
        enum err err;
    } rows[] = {
        {{"type", "later", "session", "s", "epoch", "1", NULL}, OK},
        {{"type", "superseded", "session", "s", "epoch", "1", "place", PLACE, "gen", "1", "new", "field", NULL}, OK},
        {{NULL}, ERR_INVALID},
        {{"session", "s", "epoch", "1", NULL}, ERR_INVALID},
        {{"type", "entry", "session", "s", "epoch", "1", "place", PLACE, NULL}, ERR_INVALID},
        {{"type", "entry", "session", "s", "epoch", "1", "place", "short", "token", "t", NULL}, ERR_INVALID},
        {{"type", "entry", "session", "s}x", "epoch", "1", "place", PLACE, "token", "t", NULL}, ERR_INVALID},
        {{"type", "entry", "session", "s", "epoch", "0", "place", PLACE, "token", "t", NULL}, ERR_INVALID},
        {{"type", "entry", "session", "s", "epoch", "-1", "place", PLACE, "token", "t", NULL}, ERR_INVALID},
        {{"type", "entry", "session", "s", "epoch", "1e9", "place", PLACE, "token", "t", NULL}, ERR_INVALID},
        {{"type", "waiting-state", "session", "s", "epoch", "1", "rev", "1", "head", "5", "tail", "4", NULL},
         ERR_INVALID},
        {{"type", "waiting-state", "session", "s", "epoch", "1", "head", "1", "tail", "4", NULL}, ERR_INVALID},
        {{"type", "waiting-state", "session", "s", "epoch", "1", "rev", "1", "rate", "nan", "tail", "4", NULL},
         ERR_INVALID},
        {{"type", "closed", "session", "s", "epoch", "1", NULL}, ERR_INVALID},
        {{"type", "closed", "session", "s", "epoch", "1", "reason", "a\"}", NULL}, ERR_INVALID},
        {{"type", "closed", "session", "s", "epoch", "1", "reason", "a\n\nevent: entry", NULL}, ERR_INVALID},
        {{"type", "entry", "session", "s", "epoch", "1", "place", PLACE, "token", "a.b\"", NULL}, ERR_INVALID},
        {{"type", "superseded", "session", "s", "epoch", "1", "place", PLACE, "gen", "4294967296", NULL}, ERR_INVALID},
        {{"type", NULL}, ERR_INVALID},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct message message;
        struct redis_reply *reply = reply_words(rows[i].words);
        assert_int_equal(message_decode(reply, &message), rows[i].err);
        reply_words_free(reply);
    }
    struct message message;
    assert_int_equal(message_decode(NULL, &message), ERR_INVALID);
}

static void departures_are_sorted_and_written_as_gaps(void **state)
{
    (void)state;
    char list[64];
    uint64_t tickets[] = {142, 131, 133, 131};
    assert_int_equal(departed_write(list, sizeof list, tickets, 4), OK);
    assert_string_equal(list, "131,+2,+9");
    assert_int_equal(departed_write(list, sizeof list, NULL, 0), OK);
    assert_string_equal(list, "");
    assert_int_equal(departed_write(list, 9, tickets, 4), ERR_TOO_BIG);
    assert_int_equal(departed_write(list, 10, tickets, 4), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_encoded_decodes_to_the_same),
        cmocka_unit_test(a_drawn_list_is_walked_as_far_as_it_makes_sense),
        cmocka_unit_test(the_pace_of_other_versions_is_taken_as_far_as_it_goes),
        cmocka_unit_test(poisoned_entries_are_refused_and_unknown_ones_tolerated),
        cmocka_unit_test(departures_are_sorted_and_written_as_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

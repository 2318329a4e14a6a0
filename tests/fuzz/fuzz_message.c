/* Stream entries and the lists in them: names and values a line each. What decodes is encoded to fields that decode to
 * the same; a list that is walked is ascending, and written again it is walked the same. */
#include "tests/fuzz/fuzz.h"

#include "common/line/message.h"
#include "gateway/positions.h"
#include "tests/support/redis_words.h"

#include <stdlib.h>

#define WORDS_MAX 60
#define TICKETS_MAX 512

static struct redis_reply *reply_of(struct text *words, size_t count)
{
    struct buf wire;
    buf_init(&wire, 1 << 20);
    CHECK(buf_format(&wire, "*%zu\r\n", count) == OK);
    for (size_t i = 0; i < count; i++)
        CHECK(buf_format(&wire, "$%zu\r\n", words[i].len) == OK && buf_text(&wire, words[i]) == OK &&
              buf_text(&wire, TEXT("\r\n")) == OK);
    struct redis_reply *reply = reply_parse(wire.data, wire.len);
    buf_finish(&wire);
    return reply;
}

/* What cannot be meant is told as unknown. */
static bool same_pace(double a, double b)
{
    if (!(a > -1e12 && a < 1e12))
        return b == 0;
    double scale = a < 0 ? -a : a;
    return a - b <= 0.001 + scale * 1e-9 && b - a <= 0.001 + scale * 1e-9;
}

static void same(const struct message *a, const struct message *b)
{
    CHECK(a->type == b->type && text_equal(a->session, b->session) && a->epoch == b->epoch);
    switch (a->type) {
    case MESSAGE_WAITING_STATE:
        CHECK(a->rev == b->rev && a->base == b->base && a->head == b->head && a->tail == b->tail &&
              a->waiting == b->waiting && a->lobby == b->lobby && a->admitted == b->admitted);
        CHECK(text_equal(a->phase, b->phase) && text_equal(a->status, b->status) &&
              text_equal(a->departed, b->departed));
        CHECK(same_pace(a->pace.rate, b->pace.rate) && same_pace(a->pace.leaving, b->pace.leaving));
        break;
    case MESSAGE_ENTRY:
        CHECK(text_equal(a->place, b->place) && a->ticket == b->ticket && text_equal(a->token, b->token) &&
              a->expires_s == b->expires_s && a->admitted_ms == b->admitted_ms);
        break;
    case MESSAGE_CLOSED:
        CHECK(text_equal(a->reason, b->reason) && text_equal(a->place, b->place));
        CHECK(a->place.at || a->tail == b->tail);
        break;
    case MESSAGE_SUPERSEDED:
        CHECK(text_equal(a->place, b->place) && a->gen == b->gen);
        break;
    case MESSAGE_DRAWN:
        CHECK(text_equal(a->places, b->places));
        break;
    case MESSAGE_NOTICE:
        CHECK(text_equal(a->text, b->text) && a->at_ms == b->at_ms);
        break;
    case MESSAGE_UNKNOWN:
        break;
    }
}

static void entry(struct text in)
{
    struct text words[WORDS_MAX];
    size_t count = 0;
    while (count < WORDS_MAX && text_next(&in, '\n', &words[count]))
        count++;
    struct redis_reply *reply = reply_of(words, count);
    struct message message, back;
    if (message_decode(reply, &message) == OK && message.type != MESSAGE_UNKNOWN) {
        struct message_command command;
        message_encode(&command, "", TEXT("gw.abcdefgh"), &message);
        struct redis_reply *again = reply_of(command.args + 7, command.count - 7);
        CHECK(message_decode(again, &back) == OK);
        same(&message, &back);
        reply_words_free(again);
    }
    reply_words_free(reply);
}

static void departed(struct text in)
{
    static char list[TICKETS_MAX * 24];
    uint64_t tickets[TICKETS_MAX], last = 0, ticket, before = 0;
    struct text rest = in;
    size_t count = 0;
    bool bad = false;
    while (count < TICKETS_MAX && departed_next(&rest, &last, &ticket, &bad)) {
        CHECK(ticket > before);
        before = tickets[count++] = ticket;
    }
    CHECK(departed_write(list, sizeof list, tickets, count) == OK);
    rest = text_of(list);
    last = 0;
    for (size_t i = 0; i < count; i++)
        CHECK(departed_next(&rest, &last, &ticket, &bad) && ticket == tickets[i]);
    CHECK(!departed_next(&rest, &last, &ticket, &bad) && !bad);
    struct positions positions;
    positions_init(&positions);
    if (positions_load(&positions, &(struct positions_picture){.epoch = 1, .rev = 1, .tail = 2000, .waiting = 2000}) ==
            OK &&
        positions_advance(&positions, 2, 0, 0, 2000, 2000 - count, in) == OK)
        for (size_t i = 0; i < count; i++)
            CHECK(positions_departed(&positions, tickets[i]) || tickets[i] > 2000);
    positions_finish(&positions);
}

static void drawn(struct text rest)
{
    struct text place;
    uint64_t ticket;
    while (drawn_next(&rest, &place, &ticket))
        CHECK(place_id_valid(place) && ticket > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text in = {(const char *)data, size};
    entry(in);
    departed(in);
    drawn(in);
    return 0;
}

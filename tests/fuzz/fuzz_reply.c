/* What Redis answers: RESP of any kind, cut anywhere, gives the same reply or the same refusal, and everything that
 * reads replies copes with every reply. */
#include "tests/fuzz/fuzz.h"

#include "common/line/config.h"
#include "common/line/line.h"
#include "common/line/message.h"
#include "common/line/use.h"
#include "gateway/positions.h"
#include "publisher/draw.h"

#include <hiredis/hiredis.h>
#include <jansson.h>

static redisReply *parse(struct text in, size_t step, bool *bad)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    CHECK(reader);
    *bad = false;
    while (in.len > 0 && !reply && !*bad) {
        size_t len = step && step < in.len ? step : in.len;
        *bad = redisReaderFeed(reader, in.at, len) != REDIS_OK || redisReaderGetReply(reader, &reply) != REDIS_OK;
        in.at += len;
        in.len -= len;
    }
    redisReaderFree(reader);
    return reply;
}

static bool same(const struct redis_reply *a, const struct redis_reply *b)
{
    if (reply_kind(a) != reply_kind(b) || reply_len(a) != reply_len(b) || !text_equal(reply_text(a), reply_text(b)) ||
        reply_int(a, -1) != reply_int(b, -1))
        return false;
    for (size_t i = 0; i < reply_len(a); i++)
        if (!same(reply_at(a, i), reply_at(b, i)))
            return false;
    return true;
}

static void read_picture(const struct redis_reply *reply)
{
    struct line_picture picture;
    struct positions positions;
    line_picture_decode(OK, reply, &picture);
    if (picture.outcome != LINE_OK)
        return;
    positions_init(&positions);
    if (positions_load(&positions,
                       &(struct positions_picture){picture.epoch, picture.rev, picture.base, picture.head, picture.tail,
                                                   picture.waiting, picture.first, picture.bits}) == OK) {
        uint64_t front = positions_front(&positions);
        CHECK(positions_of(&positions, front) == 0);
        for (uint64_t ticket = front + 1; ticket < front + 100 && ticket <= positions.tail; ticket++)
            CHECK(positions_departed(&positions, ticket) || positions_of(&positions, ticket) <= ticket - front);
    }
    positions_finish(&positions);
}

static void read_all(const struct redis_reply *reply)
{
    struct line_place place;
    struct line_info info;
    struct message message;
    struct draw draw;
    line_place_decode(OK, reply, &place);
    line_info_decode(OK, reply, &info);
    read_picture(reply);
    draw_decode(OK, reply, &draw);
    for (size_t i = 0; i < draw.server_count; i++) {
        struct text rest = buf_view(&draw.servers[i].places), id;
        uint64_t ticket;
        while (drawn_next(&rest, &id, &ticket))
            CHECK(place_id_valid(id));
    }
    draw_finish(&draw);
    if (message_decode(reply, &message) == OK && message.type != MESSAGE_UNKNOWN)
        CHECK(session_id_valid(message.session) && message.epoch > 0);
    (void)use_was(OK, reply);
    (void)use_redeemed(OK, reply, TEXT("somebody"), 1);
    CHECK(config_version(reply) >= 0);
    json_t *json = config_json(reply);
    char *text = json_dumps(json, 0);
    CHECK(text && is_json(text_of(text)));
    free(text);
    json_decref(json);
}

/* hiredis makes room for as many elements as an array says it has; our parser refuses that before (fuzz_parser). */
static bool claims_much(struct text in)
{
    for (size_t i = 0, digits = 0, array = 0; i < in.len; i++) {
        bool digit = in.at[i] >= '0' && in.at[i] <= '9';
        array = in.at[i] == '*' || (digit && array);
        digits = digit && array ? digits + 1 : 0;
        if (digits > 5)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text in = {(const char *)data, size};
    bool bad, cut_bad;
    if (claims_much(in))
        return 0;
    redisReply *whole = parse(in, 0, &bad), *cut = parse(in, 1, &cut_bad);
    CHECK(bad == cut_bad && (whole != NULL) == (cut != NULL));
    const struct redis_reply *reply = (const struct redis_reply *)(const void *)whole;
    CHECK(same(reply, (const struct redis_reply *)(const void *)cut));
    read_all(reply);
    for (size_t i = 0; i < reply_len(reply) && i < 16; i++)
        read_all(reply_at(reply, i));
    freeReplyObject(whole);
    freeReplyObject(cut);
    return 0;
}

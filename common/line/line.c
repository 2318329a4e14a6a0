#include "common/line/line.h"

#include "common/base/check.h"

#include <inttypes.h>
#include <stdio.h>

#define KEYS_MAX 16
#define NUMBER_SIZE 21

void line_scripts_prepare(void)
{
    struct line_script *scripts[] = {&script_join,    &script_resume, &script_park,   &script_leave, &script_status,
                                     &script_sync,    &script_admit,  &script_settle, &script_reap,  &script_configure,
                                     &script_release, &script_draw,   &script_info,   &script_keep,  &script_reopen,
                                     &script_restore, &script_hold,   &script_unhold};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        redis_script_prepare(&scripts[i]->script);
}

static const struct {
    const char *word;
    enum line_outcome outcome;
} outcomes[] = {
    {"waiting", LINE_WAITING},
    {"lobby", LINE_LOBBY},
    {"admitted", LINE_ADMITTED},
    {"entered", LINE_ENTERED},
    {"parked", LINE_PARKED},
    {"departed", LINE_DEPARTED},
    {"ok", LINE_OK},
    {"gone", LINE_GONE},
    {"moved", LINE_MOVED},
    {"stale", LINE_STALE},
    {"none", LINE_NONE},
    {"deleted", LINE_DELETED},
    {"lost", LINE_LOST},
    {"unavailable", LINE_UNAVAILABLE},
    {"closed", LINE_CLOSED},
    {"sold-out", LINE_SOLD_OUT},
    {"line-full", LINE_FULL},
    {"not-started", LINE_NOT_STARTED},
    {"already-waiting", LINE_ALREADY_WAITING},
    {"already-entered", LINE_ALREADY_ENTERED},
    {"fenced", LINE_FENCED},
    {"conflict", LINE_CONFLICT},
    {"in-use", LINE_IN_USE},
    {"not-virtual", LINE_NOT_VIRTUAL},
    {"used", LINE_USED},
};

const char *line_outcome_text(enum line_outcome outcome)
{
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++)
        if (outcomes[i].outcome == outcome)
            return outcomes[i].word;
    return "failed";
}

enum line_outcome line_outcome_of(enum err err, const struct redis_reply *reply)
{
    if (err != OK)
        return LINE_FAILED;
    return line_outcome_word(reply_text(reply_at(reply, 0)));
}

enum line_outcome line_outcome_word(struct text word)
{
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++)
        if (text_is(word, outcomes[i].word))
            return outcomes[i].outcome;
    return LINE_FAILED;
}

/* What goes on to clients as it is; of anything else nothing. */
static struct text word_at(const struct redis_reply *reply, size_t index)
{
    struct text word = reply_text(reply_at(reply, index));
    return text_is_plain(word) ? word : (struct text){NULL, 0};
}

static uint64_t number_at(const struct redis_reply *reply, size_t index)
{
    int64_t value = reply_int(reply_at(reply, index), 0);
    return value > 0 ? (uint64_t)value : 0;
}

void line_place_decode(enum err err, const struct redis_reply *reply, struct line_place *place)
{
    *place = (struct line_place){.outcome = line_outcome_of(err, reply)};
    if (place->outcome == LINE_NOT_STARTED)
        place->starts_at_ms = (int64_t)number_at(reply, 1);
    place->place = reply_text(reply_at(reply, 1));
    place->epoch = number_at(reply, 2);
    if (place->outcome == LINE_ENTERED)
        place->token = reply_text(reply_at(reply, 3));
    if (place->outcome != LINE_WAITING && place->outcome != LINE_ADMITTED && place->outcome != LINE_LOBBY)
        return;
    place->ticket = number_at(reply, 3);
    place->gen = (uint32_t)number_at(reply, 4);
    place->position = number_at(reply, 5);
    place->head = number_at(reply, 6);
    place->base = number_at(reply, 7);
    place->rev = number_at(reply, 8);
    place->tail = number_at(reply, 9);
    place->server_before = reply_text(reply_at(reply, 10));
    place->gen_before = (uint32_t)number_at(reply, 11);
    place->waiting = number_at(reply, 12);
    place->status = reply_text(reply_at(reply, 13));
    if (place->outcome == LINE_LOBBY) {
        place->order = place->ticket;
        place->ticket = 0;
        place->starts_at_ms = (int64_t)number_at(reply, 14);
    }
    if (!place_id_valid(place->place) || (place->ticket == 0 && place->outcome != LINE_LOBBY))
        place->outcome = LINE_FAILED;
}

void line_picture_decode(enum err err, const struct redis_reply *reply, struct line_picture *picture)
{
    *picture = (struct line_picture){.outcome = line_outcome_of(err, reply)};
    if (picture->outcome != LINE_OK)
        return;
    picture->epoch = number_at(reply, 1);
    picture->rev = number_at(reply, 2);
    picture->base = number_at(reply, 3);
    picture->head = number_at(reply, 4);
    picture->tail = number_at(reply, 5);
    picture->waiting = number_at(reply, 6);
    picture->phase = word_at(reply, 7);
    picture->status = word_at(reply, 8);
    picture->first = number_at(reply, 9);
    picture->bits = reply_text(reply_at(reply, 10));
    struct text url = reply_text(reply_at(reply, 11)); /* of any script */
    picture->entry_url = text_is_quotable(url) ? url : (struct text){NULL, 0};
    picture->entry_method = word_at(reply, 12);
    picture->per_user = word_at(reply, 13);
    picture->lobby = number_at(reply, 14);
    picture->starts_at_ms = (int64_t)number_at(reply, 15);
    picture->order = word_at(reply, 16);
    picture->seed_hash = word_at(reply, 17);
    picture->notice = reply_text(reply_at(reply, 18));
    picture->notice_at_ms = (int64_t)number_at(reply, 19);
    picture->admitted = number_at(reply, 20);
    picture->version = (int64_t)number_at(reply, 21);
}

static struct text number(char dst[NUMBER_SIZE], uint64_t value)
{
    int len = snprintf(dst, NUMBER_SIZE, "%" PRIu64, value);
    return (struct text){dst, (size_t)len};
}

/* A key of the session; for "used:*" the first argument's, a place. */
static struct text script_key(char *name, const struct line *line, struct text session, struct text part, size_t count,
                              const struct text *args)
{
    char whole[64];
    if (part.at[part.len - 1] != '*')
        return key_session(name, line->prefix, session, part);
    CHECK(count > 0 && place_id_valid(args[0]));
    int len = snprintf(whole, sizeof whole, "%.*s%.*s", (int)part.len - 1, part.at, PLACE_ID_LEN, args[0].at);
    return key_session(name, line->prefix, session, (struct text){whole, (size_t)len});
}

enum err line_eval(struct line *line, const struct line_script *script, struct text session, size_t count,
                   const struct text *args, redis_callback *callback, void *data)
{
    char names[KEYS_MAX][KEY_SIZE];
    struct text keys[KEYS_MAX], rest = text_of(script->keys), part;
    size_t key_count = 0;
    while (text_next(&rest, ' ', &part)) {
        CHECK(key_count < KEYS_MAX);
        keys[key_count] = script_key(names[key_count], line, session, part, count, args);
        key_count++;
    }
    return redis_eval(line->redis, &script->script, key_count, keys, count, args, line->timeout_ms, callback, data);
}

enum err line_command(struct line *line, size_t count, const struct text *args, redis_callback *callback, void *data)
{
    return redis_call(line->redis, count, args, line->timeout_ms, callback, data);
}

enum err line_join(struct line *line, const struct line_join *join, redis_callback *callback, void *data)
{
    char epoch[NUMBER_SIZE], tail[NUMBER_SIZE], doorbell[KEY_SIZE];
    struct text args[] = {
        join->place,
        join->user,
        join->server,
        join->conn,
        join->mode,
        number(epoch, join->known.epoch),
        number(tail, join->known.tail),
        key_global(doorbell, line->prefix, "doorbell"),
        join->session,
    };
    return line_eval(line, &script_join, join->session, sizeof args / sizeof args[0], args, callback, data);
}

enum err line_resume(struct line *line, const struct line_resume *resume, redis_callback *callback, void *data)
{
    char epoch[NUMBER_SIZE], tail[NUMBER_SIZE], gen[NUMBER_SIZE];
    struct text args[] = {
        resume->place,
        resume->server,
        resume->conn,
        resume->mode,
        resume->expect,
        number(epoch, resume->known.epoch),
        number(tail, resume->known.tail),
        number(gen, resume->gen),
    };
    return line_eval(line, &script_resume, resume->session, sizeof args / sizeof args[0], args, callback, data);
}

enum err line_park(struct line *line, struct text session, struct text place, struct text conn, struct text user,
                   bool short_stay, redis_callback *callback, void *data)
{
    struct text args[] = {place, conn, user, short_stay ? TEXT("short") : TEXT("")};
    return line_eval(line, &script_park, session, sizeof args / sizeof args[0], args, callback, data);
}

enum err line_leave(struct line *line, struct text session, struct text place, uint32_t gen, redis_callback *callback,
                    void *data)
{
    char digits[NUMBER_SIZE];
    struct text args[] = {place, number(digits, gen)};
    return line_eval(line, &script_leave, session, sizeof args / sizeof args[0], args, callback, data);
}

enum err line_status(struct line *line, struct text session, struct text place, bool poll,
                     const struct line_known *known, redis_callback *callback, void *data)
{
    char epoch[NUMBER_SIZE], tail[NUMBER_SIZE];
    struct text args[] = {place, poll ? TEXT("poll") : TEXT(""), number(epoch, known->epoch),
                          number(tail, known->tail)};
    return line_eval(line, &script_status, session, sizeof args / sizeof args[0], args, callback, data);
}

enum err line_sync(struct line *line, struct text session, redis_callback *callback, void *data)
{
    return line_eval(line, &script_sync, session, 0, NULL, callback, data);
}

enum err line_info(struct line *line, struct text session, redis_callback *callback, void *data)
{
    return line_eval(line, &script_info, session, 0, NULL, callback, data);
}

void line_info_decode(enum err err, const struct redis_reply *reply, struct line_info *info)
{
    *info = (struct line_info){.outcome = line_outcome_of(err, reply)};
    if (info->outcome != LINE_OK)
        return;
    info->phase = word_at(reply, 1);
    info->status = word_at(reply, 2);
    info->starts_at_ms = (int64_t)number_at(reply, 3);
    info->ends_at_ms = (int64_t)number_at(reply, 4);
    info->waiting = number_at(reply, 5);
    info->lobby = number_at(reply, 6);
    info->order = word_at(reply, 7);
    info->seed_hash = word_at(reply, 8);
    info->seed = word_at(reply, 9);
    info->drawn_first = number_at(reply, 10);
    info->drawn_last = number_at(reply, 11);
    info->now_ms = (int64_t)number_at(reply, 12);
}

enum err line_peek(struct line *line, struct text session, redis_callback *callback, void *data)
{
    char key[KEY_SIZE];
    struct text args[] = {TEXT("HMGET"), key_session(key, line->prefix, session, TEXT("state")),
                          TEXT("epoch"), TEXT("rev"),
                          TEXT("phase"), TEXT("tail")};
    return line_command(line, sizeof args / sizeof args[0], args, callback, data);
}

enum err line_reap(struct line *line, struct text session, struct text server, struct text cursor,
                   redis_callback *callback, void *data)
{
    struct text args[] = {server, cursor};
    return line_eval(line, &script_reap, session, sizeof args / sizeof args[0], args, callback, data);
}

enum err line_settle(struct line *line, struct text session, size_t count, const struct text *place_tokens,
                     redis_callback *callback, void *data)
{
    return line_eval(line, &script_settle, session, count, place_tokens, callback, data);
}

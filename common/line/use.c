#include "common/line/use.h"

#include "common/base/check.h"
#include "common/line/token.h"

#include <inttypes.h>
#include <stdio.h>

/* A mark must outlive its token on the gateway whose clock is the slowest. */
#define MARK_MARGIN_S 300
#define RELEASED "(released)" /* no BY is spelled like this */
#define MARK_SIZE (20 + 1 + USE_BY_MAX + 1)

bool use_by_valid(struct text by)
{
    if (by.len == 0 || by.len > USE_BY_MAX)
        return false;
    for (size_t i = 0; i < by.len; i++) {
        char c = by.at[i];
        if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '.' &&
            c != ':' && c != '-')
            return false;
    }
    return true;
}

static struct text seconds(char dst[24], const struct use *use)
{
    int64_t left_s = use->expires_s - use->now_ms / 1000;
    int64_t most_s = TOKEN_INSTANT_MAX_S / 1000; /* Redis takes no more than fits its milliseconds */
    left_s = left_s < 0 ? 0 : left_s > most_s ? most_s : left_s;
    int len = snprintf(dst, 24, "%" PRId64, left_s + TOKEN_LEEWAY_S + MARK_MARGIN_S);
    return (struct text){dst, (size_t)len};
}

static struct text mark(char dst[MARK_SIZE], const struct use *use, struct text by)
{
    int len = snprintf(dst, MARK_SIZE, "%" PRId64 " %.*s", use->now_ms, (int)by.len, by.at);
    CHECK(len > 0 && len < MARK_SIZE);
    return (struct text){dst, (size_t)len};
}

static struct text used_key(char dst[KEY_SIZE], const struct line *line, const struct use *use)
{
    char part[sizeof "used:" + PLACE_ID_LEN];
    CHECK(place_id_valid(use->place));
    int len = snprintf(part, sizeof part, "used:%.*s", (int)use->place.len, use->place.at);
    return key_session(dst, line->prefix, use->session, (struct text){part, (size_t)len});
}

enum err use_look(struct line *line, const struct use *use, redis_callback *callback, void *data)
{
    char key[KEY_SIZE];
    struct text args[] = {TEXT("EXISTS"), used_key(key, line, use)};
    return line_command(line, 2, args, callback, data);
}

bool use_was(enum err err, const struct redis_reply *reply)
{
    return err == OK && reply_int(reply, 0) == 1;
}

enum err use_redeem(struct line *line, const struct use *use, struct text by, redis_callback *callback, void *data)
{
    char key[KEY_SIZE], value[MARK_SIZE], ttl[24];
    CHECK(by.len == 0 || use_by_valid(by));
    struct text args[] = {
        TEXT("SET"), used_key(key, line, use), mark(value, use, by), TEXT("NX"),
        TEXT("GET"), /* what was there before: the answer to those who come too late */
        TEXT("EX"),  seconds(ttl, use),
    };
    return line_command(line, sizeof args / sizeof args[0], args, callback, data);
}

enum line_outcome use_redeemed(enum err err, const struct redis_reply *reply, struct text by, int64_t now_ms)
{
    struct text rest = reply_text(reply), instant;
    int64_t at_ms;
    if (err != OK)
        return LINE_FAILED;
    if (reply_kind(reply) == REPLY_NIL)
        return LINE_OK;
    bool again = by.len > 0 && text_next(&rest, ' ', &instant) && text_int(instant, 0, INT64_MAX, &at_ms) == OK &&
                 text_equal(rest, by) && now_ms - at_ms <= USE_AGAIN_MS;
    return again ? LINE_OK : LINE_USED;
}

enum err use_release(struct line *line, const struct use *use, redis_callback *callback, void *data)
{
    char value[MARK_SIZE], ttl[24], doorbell[KEY_SIZE];
    struct text args[] = {
        use->place,
        seconds(ttl, use),
        mark(value, use, TEXT(RELEASED)),
        key_global(doorbell, line->prefix, "doorbell"),
        use->session,
    };
    return line_eval(line, &script_release, use->session, sizeof args / sizeof args[0], args, callback, data);
}

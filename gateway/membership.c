#include "gateway/membership.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "gateway/gateway.h"

#include <inttypes.h>
#include <stdio.h>

void membership_init(struct membership *membership, struct gateway *gateway, const char *id)
{
    uint8_t random[BOOT_LEN * 6 / 8];
    *membership = (struct membership){.gateway = gateway, .started_ms = clock_mono_ms()};
    CHECK(server_id_valid(text_of(id)));
    entropy_fill(random, sizeof random);
    base64url_encode(membership->boot, random, sizeof random);
    snprintf(membership->id, sizeof membership->id, "%s", id);
    snprintf(membership->name, sizeof membership->name, "%s.%s", membership->id, membership->boot);
    membership->redis_offset_ms = clock_wall_ms() - (int64_t)clock_mono_ms();
}

struct text membership_name(const struct membership *membership)
{
    return text_of(membership->name);
}

int64_t membership_redis_now_ms(const struct membership *membership)
{
    return (int64_t)clock_mono_ms() + membership->redis_offset_ms;
}

/* ---- heartbeat ---- */

/* Heartbeats of the older boots of this id go at once: their places are parked within a tick. */
static void servers_listed(void *data, enum err err, const struct redis_reply *reply)
{
    struct membership *membership = data;
    struct gateway *gateway = membership->gateway;
    char key[KEY_SIZE];
    int64_t now = membership_redis_now_ms(membership);
    if (err != OK)
        return;
    membership->others = false;
    for (size_t i = 0; i + 1 < reply_len(reply); i += 2) {
        struct text name = reply_text(reply_at(reply, i));
        if (text_is(name, membership->name))
            continue;
        if (text_is(server_name_id(name), membership->id)) {
            struct text args[] = {TEXT("ZREM"), key_global(key, gateway->line.prefix, "servers"), name};
            if (line_command(&gateway->line, 3, args, NULL, NULL) != OK)
                return;
        } else {
            membership->others = membership->others || now - reply_int(reply_at(reply, i + 1), 0) < BEAT_LIMIT_MS;
        }
    }
}

/* What was handled is deleted, so the length is what was not. */
static void stream_measured(void *data, enum err err, const struct redis_reply *reply)
{
    struct membership *membership = data;
    if (err == OK)
        metrics_set(membership->gateway->metrics, METER_STREAM_LAG_MESSAGES, (double)reply_int(reply, 0), NULL, NULL,
                    NULL);
}

static void beat_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct membership *membership = data;
    struct gateway *gateway = membership->gateway;
    char key[KEY_SIZE];
    (void)reply;
    if (err != OK)
        return;
    /* A gap: this process stood still, or Redis was away. Others may have parked our places; now that the heartbeat is
     * there again nobody parks them anew behind our back. */
    uint64_t now = clock_mono_ms();
    bool gap = membership->beat_ms && now - membership->beat_ms > BEAT_GAP_MS;
    membership->beat_ms = now;
    if (gap)
        sweep_resynchronise(&gateway->sweep, "no heartbeat for a while");
    struct text length[] = {TEXT("XLEN"), key_server(key, gateway->line.prefix, text_of(membership->id), "stream")};
    if (line_command(&gateway->line, 2, length, stream_measured, membership) != OK)
        return;
    struct text args[] = {TEXT("ZRANGE"), key_global(key, gateway->line.prefix, "servers"), TEXT("0"), TEXT("-1"),
                          TEXT("WITHSCORES")};
    if (line_command(&gateway->line, 5, args, servers_listed, membership) != OK)
        return;
}

static void time_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct membership *membership = data;
    struct gateway *gateway = membership->gateway;
    char key[KEY_SIZE], score[24];
    if (err != OK)
        return;
    int64_t redis_ms = reply_int(reply_at(reply, 0), 0) * 1000 + reply_int(reply_at(reply, 1), 0) / 1000;
    membership->redis_offset_ms = redis_ms - (int64_t)clock_mono_ms();
    metric_set(gateway->meters.clock_difference, (double)(clock_wall_ms() - redis_ms) / 1000);
    snprintf(score, sizeof score, "%" PRId64, redis_ms);
    struct text args[] = {TEXT("ZADD"), key_global(key, gateway->line.prefix, "servers"), text_of(score),
                          membership_name(membership)};
    if (line_command(&gateway->line, 4, args, beat_answered, membership) != OK)
        return;
}

static void heartbeat(struct membership *membership)
{
    struct text args[] = {TEXT("TIME")};
    if (line_command(&membership->gateway->line, 1, args, time_answered, membership) != OK)
        return; /* the next beat tries again */
}

/* ---- lock ---- */

static void lock_lost(struct membership *membership)
{
    struct gateway *gateway = membership->gateway;
    bool taken = !membership->joined && clock_mono_ms() - membership->started_ms > LOCK_WAIT_MS;
    if (membership->joined || taken) {
        membership->ending = true;
        inbox_stop(&gateway->inbox); /* the stream is the other's now */
    }
    if (membership->joined) {
        log_event(LOG_ERROR, "lock-lost", LOG_S("server", membership->id),
                  LOG_S("detail", "another process took this server id; ending all streams and stopping"));
        membership->joined = false;
        drain_now(&gateway->drain, 1);
    } else if (taken) {
        log_event(LOG_ERROR, "server-id-taken", LOG_S("server", membership->id),
                  LOG_S("detail", "another running gateway has this id; give this one its own --server-id"));
        drain_now(&gateway->drain, 1);
    }
}

static void lock_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct membership *membership = data;
    membership->asking = false;
    if (err != OK)
        return;
    if (reply_int(reply, 0) != 1) {
        lock_lost(membership);
        return;
    }
    if (!membership->joined) {
        membership->joined = true;
        inbox_start(&membership->gateway->inbox);
    }
    heartbeat(membership);
}

void membership_beat(struct membership *membership)
{
    struct line *line = &membership->gateway->line;
    char key[KEY_SIZE], ms[8];
    if (membership->asking || membership->ending || drain_done(&membership->gateway->drain))
        return;
    snprintf(ms, sizeof ms, "%d", LOCK_MS);
    struct text keys[] = {key_server(key, line->prefix, text_of(membership->id), "lock")};
    struct text args[] = {text_of(membership->boot), text_of(ms)};
    membership->asking = redis_eval(line->redis, &script_hold.script, 1, keys, 2, args, line->timeout_ms, lock_answered,
                                    membership) == OK;
}

void membership_leave(struct membership *membership, redis_callback *done, void *data)
{
    struct line *line = &membership->gateway->line;
    char key[KEY_SIZE];
    struct text remove[] = {TEXT("ZREM"), key_global(key, line->prefix, "servers"), membership_name(membership)};
    if (membership->joined && line_command(line, 3, remove, NULL, NULL) != OK)
        log_event(LOG_WARN, "leave-unwritten", LOG_S("server", membership->id));
    /* Every place here is parked by now, and tokens wait in Redis: what is left in the stream tells nobody anything. */
    inbox_stop(&membership->gateway->inbox); /* or it would make the stream again */
    struct text drop[] = {TEXT("DEL"), key_server(key, line->prefix, text_of(membership->id), "stream")};
    if (membership->joined && line_command(line, 2, drop, NULL, NULL) != OK)
        log_event(LOG_WARN, "stream-left", LOG_S("server", membership->id));
    struct text keys[] = {key_server(key, line->prefix, text_of(membership->id), "lock")};
    struct text args[] = {text_of(membership->boot)};
    membership->joined = false;
    if (redis_eval(line->redis, &script_unhold.script, 1, keys, 1, args, line->timeout_ms, done, data) != OK)
        done(data, ERR_UNSENT, NULL);
}

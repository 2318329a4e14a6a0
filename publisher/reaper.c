#include "publisher/reaper.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "publisher/publisher.h"

#include <stdlib.h>

#define FRESH_MS 2000 /* a heart that beat this recently is not an operator's to stop */

/** The end of one server:  REAP (a chunk an answer, session by session) ──► SCORE ──► REMOVE ──► (end) */
struct burial {
    struct reaper *reaper;
    char server[SERVER_NAME_SIZE], session[SESSION_ID_MAX + 1], cursor[24];
    int64_t parked;
    bool gone; /* it took itself off the register */
};

void reaper_init(struct reaper *reaper, struct publisher *publisher)
{
    *reaper = (struct reaper){.publisher = publisher};
    pulses_init(&reaper->pulses);
}

void reaper_finish(struct reaper *reaper)
{
    pulses_finish(&reaper->pulses);
}

static void burial_end(struct burial *burial)
{
    struct pulse *pulse = pulse_find(&burial->reaper->pulses, text_of(burial->server));
    if (pulse)
        pulse->busy = false;
    free(burial);
}

/* ---- the register ---- */

static void removed(void *data, enum err err, const struct redis_reply *reply)
{
    struct burial *burial = data;
    struct reaper *reaper = burial->reaper;
    struct text name = text_of(burial->server);
    struct pulse *pulse = pulse_find(&reaper->pulses, name);
    struct line *line = &reaper->publisher->line;
    char key[KEY_SIZE];
    /* Not registered any more: by us just now, or by itself. A new boot of the id goes on using its stream. */
    if (err == OK && (reply_int(reply, 0) == 1 || burial->gone)) {
        log_event(LOG_INFO, "server-removed", LOG_T("server", name), LOG_I("parked", burial->parked));
        struct text args[] = {TEXT("DEL"), key_server(key, line->prefix, server_name_id(name), "stream")};
        if (pulse && !pulse_replaced(&reaper->pulses, pulse) && line_command(line, 2, args, NULL, NULL) != OK)
            log_event(LOG_WARN, "stream-kept", LOG_T("server", name));
        if (pulse)
            pulse->present = pulse->condemned = false;
    }
    burial_end(burial);
}

/* Only while it has not moved: a gateway that beats again meanwhile stays, or adds itself again at its next beat. */
static void score_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct burial *burial = data;
    struct line *line = &burial->reaper->publisher->line;
    struct pulse *pulse = pulse_find(&burial->reaper->pulses, text_of(burial->server));
    char key[KEY_SIZE];
    burial->gone = reply_kind(reply) == REPLY_NIL;
    bool same = pulse && (burial->gone || reply_int(reply, -1) == pulse->beat_ms);
    struct text args[] = {TEXT("ZREM"), key_global(key, line->prefix, "servers"), text_of(burial->server)};
    if (err != OK || !same || line_command(line, 3, args, removed, burial) != OK)
        burial_end(burial);
}

static void burial_remove(struct burial *burial)
{
    struct line *line = &burial->reaper->publisher->line;
    char key[KEY_SIZE];
    struct text args[] = {TEXT("ZSCORE"), key_global(key, line->prefix, "servers"), text_of(burial->server)};
    if (line_command(line, 3, args, score_answered, burial) != OK)
        burial_end(burial);
}

/* ---- the sessions ---- */

static void burial_next(struct burial *burial);
static void burial_reap(struct burial *burial);

static void chunk_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct burial *burial = data;
    struct owner *owner = catalog_find(&burial->reaper->publisher->catalog, text_of(burial->session));
    struct text cursor = reply_text(reply_at(reply, 0));
    if (err != OK || !owner || text_copy(burial->cursor, sizeof burial->cursor, cursor) != OK || cursor.len == 0) {
        burial_end(burial); /* the next look finds the rest */
        return;
    }
    burial->parked += reply_int(reply_at(reply, 1), 0);
    if (!text_is(cursor, "0")) {
        burial_reap(burial);
        return;
    }
    owner_forget_server(owner, text_of(burial->server));
    burial_next(burial);
}

static void burial_reap(struct burial *burial)
{
    if (line_reap(&burial->reaper->publisher->line, text_of(burial->session), text_of(burial->server),
                  text_of(burial->cursor), chunk_answered, burial) != OK)
        burial_end(burial);
}

static struct owner *serving(const struct reaper *reaper, struct text server)
{
    MAP_EACH(&reaper->publisher->catalog.owners, node, next, cursor)
    {
        struct owner *owner = CONTAINER_OF(node, struct owner, node);
        if (owner_serves(owner, server))
            return owner;
    }
    return NULL;
}

static void burial_next(struct burial *burial)
{
    struct reaper *reaper = burial->reaper;
    struct pulse *pulse = pulse_find(&reaper->pulses, text_of(burial->server));
    struct owner *owner = serving(reaper, text_of(burial->server));
    if (!pulse || !pulse_dead(&reaper->pulses, pulse)) { /* it lives after all */
        burial_end(burial);
        return;
    }
    if (!owner) {
        burial_remove(burial);
        return;
    }
    memcpy(burial->session, owner->session, sizeof burial->session);
    burial_reap(burial);
}

static void bury(struct reaper *reaper, struct pulse *pulse, const char *why)
{
    struct burial *burial = calloc(1, sizeof *burial);
    if (!burial)
        return;
    burial->reaper = reaper;
    memcpy(burial->server, pulse->name, sizeof burial->server);
    memcpy(burial->cursor, "0", 2);
    pulse->busy = true;
    log_event(LOG_WARN, "server-dead", LOG_S("server", pulse->name), LOG_S("reason", why));
    burial_next(burial);
}

/* ---- looking ---- */

static void servers_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct reaper *reaper = data;
    struct pulses *pulses = &reaper->pulses;
    reaper->asking = false;
    if (err != OK)
        return;
    pulses_begin(pulses, clock_mono_ms());
    for (size_t i = 0; i + 1 < reply_len(reply); i += 2)
        pulses_seen(pulses, reply_text(reply_at(reply, i)), reply_int(reply_at(reply, i + 1), 0));
    MAP_EACH(&reaper->publisher->catalog.owners, node, next, cursor)
    {
        struct owner *owner = CONTAINER_OF(node, struct owner, node);
        for (size_t i = 0; owner->owned && i < owner->server_count; i++)
            pulses_served(pulses, text_of(owner->servers[i]));
    }
    metrics_set(reaper->publisher->metrics, METER_SERVERS, (double)pulses_end(pulses), NULL, NULL, NULL);
    MAP_EACH(&pulses->by_name, node, next, cursor)
    {
        struct pulse *pulse = CONTAINER_OF(node, struct pulse, node);
        const char *why = pulse->busy ? NULL : pulse_dead(pulses, pulse);
        if (why)
            bury(reaper, pulse, why);
    }
}

void reaper_second(struct reaper *reaper)
{
    struct publisher *publisher = reaper->publisher;
    char key[KEY_SIZE];
    if (reaper->asking || !publisher->ready || publisher->stopping)
        return;
    struct text args[] = {TEXT("ZRANGE"), key_global(key, publisher->line.prefix, "servers"), TEXT("0"), TEXT("-1"),
                          TEXT("WITHSCORES")};
    reaper->asking = line_command(&publisher->line, 5, args, servers_answered, reaper) == OK;
}

enum condemnation reaper_condemn(struct reaper *reaper, struct text name)
{
    enum condemnation result = CONDEMN_UNKNOWN;
    MAP_EACH(&reaper->pulses.by_name, node, next, cursor)
    {
        struct pulse *pulse = CONTAINER_OF(node, struct pulse, node);
        if (!text_is(name, pulse->name) && !text_equal(name, server_name_id(text_of(pulse->name))))
            continue;
        bool beats = pulse->present && pulse->still_ms < FRESH_MS;
        pulse->condemned = pulse->condemned || !beats;
        result = !beats || result == CONDEMNED ? CONDEMNED : CONDEMN_ALIVE;
    }
    return result;
}

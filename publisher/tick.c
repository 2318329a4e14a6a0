#include "publisher/tick.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "publisher/announce.h"
#include "publisher/draw.h"
#include "publisher/publisher.h"
#include "publisher/settle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*  (LOAD) ──► ADMIT ──ok──► SETTLE ──all chunks──► (DRAW) ──► PUBLISH ──all answers──► (end)
 *               │            │   ▲ └── a chunk an answer; entries go out as their tokens are stored
 *               └─(else)     └───┘
 *  LOAD: of an adaptive session. DRAW: in chunks while the phase is "drawing", so many a tick that the lease is
 * renewed.
 */
enum tick_state { TICK_LOAD, TICK_ADMIT, TICK_SETTLE, TICK_DRAW, TICK_PUBLISH };

#define DRAW_CHUNKS 16 /* a tick */

struct tick {
    struct owner *owner; /* NULL once it has gone away */
    struct publisher *publisher;
    char session[SESSION_ID_MAX + 1];
    enum tick_state state;
    struct admission admission;
    struct told {
        struct tick *tick;
        bool done;
    } * told;          /* one a place of the outbox: is it stored and told? */
    uint64_t asked_ms; /* when admit was called, monotonic */
    char load[LOAD_TEXT_SIZE], load_key[LOAD_KEY_MAX + 1];
    unsigned chunks;     /* of the draw, done */
    size_t next;         /* the first place of the outbox that no chunk has had */
    unsigned unanswered; /* messages under way */
    bool unannounced, failed;
};

static void tick_step(struct tick *tick);
static bool admit(struct tick *tick);

static void tick_free(struct tick *tick)
{
    admission_finish(&tick->admission);
    free(tick->told);
    free(tick);
}

static void tick_end(struct tick *tick)
{
    struct owner *owner = tick->owner;
    bool told = tick->admission.announce && !tick->unannounced;
    if (owner) {
        for (size_t i = 0; i < tick->admission.outbox_count; i++)
            if (tick->told && tick->told[i].done)
                owner_settled(owner, tick->admission.outbox[i].place);
        owner_ticked(owner, &tick->admission, told, !tick->failed && !tick->unannounced);
    }
    tick_free(tick);
}

/* ---- publish ---- */

static void message_answered(struct tick *tick)
{
    CHECK(tick->unanswered > 0);
    tick->unanswered--;
    if (tick->state == TICK_PUBLISH)
        tick_step(tick);
}

static void refused(struct tick *tick, const char *what, enum err err, const struct redis_reply *reply)
{
    if (!tick->failed)
        log_event(LOG_WARN, what, LOG_S("session", tick->session), LOG_S("reason", err_text(err)),
                  LOG_T("detail", reply_text(reply)));
    tick->failed = true;
}

static void entry_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct told *told = data;
    told->done = err == OK; /* nil too: that server's stream is gone */
    if (err != OK)
        refused(told->tick, "entry-untold", err, reply);
    message_answered(told->tick);
}

static void announcement_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct tick *tick = data;
    if (err != OK) {
        refused(tick, "announcement-untold", err, reply);
        tick->unannounced = true;
    }
    message_answered(tick);
}

static bool message_send(struct tick *tick, struct text server, const struct message *message, redis_callback *callback,
                         void *data)
{
    struct message_command command;
    struct line *line = &tick->publisher->line;
    message_encode(&command, line->prefix, server, message);
    enum err err = line_command(line, command.count, command.args, callback, data);
    if (err != OK) {
        refused(tick, "message-unsent", err, NULL);
        return false;
    }
    tick->unanswered++;
    return true;
}

static void announce_all(struct tick *tick, const struct message *message)
{
    for (size_t i = 0; i < tick->admission.server_count; i++)
        if (!message_send(tick, text_of(tick->admission.servers[i]), message, announcement_answered, tick))
            tick->unannounced = true;
}

static void publish(struct tick *tick)
{
    struct admission *admission = &tick->admission;
    struct text session = text_of(tick->session);
    char departed[DEPARTED_SIZE];
    if (admission->announce) {
        struct pace pace = pace_value(&tick->owner->pace);
        struct message state = announce_state(admission, session, &pace, announce_departed(admission, departed));
        announce_all(tick, &state);
    }
    if (admission->closing[0]) {
        struct message closed =
            announce_closed(admission->rev.epoch, session, text_of(admission->closing), admission->closing_tail);
        announce_all(tick, &closed);
    }
}

/* ---- settle ---- */

/* The token of PLACE is stored: it is told to the server that has its connection; without one it waits in Redis. */
static void place_settled(struct tick *tick, size_t index, struct text token, struct text server)
{
    struct message entry;
    struct told *told = &tick->told[index];
    if (!server_id_valid(server_name_id(server))) {
        told->done = true;
        return;
    }
    enum err err =
        announce_entry(&tick->admission, text_of(tick->session), &tick->admission.outbox[index], token, &entry);
    if (err != OK) {
        refused(tick, err == ERR_NOMEM ? "entry-untold" : "token-malformed", err, NULL);
        return;
    }
    message_send(tick, server, &entry, entry_answered, told);
}

static void chunk_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct tick *tick = data;
    size_t index = 0;
    if (err != OK)
        refused(tick, "unsettled", err, reply);
    for (size_t i = 0; err == OK && tick->owner && i + 2 < reply_len(reply); i += 3) { /* in the order of the outbox */
        struct text place = reply_text(reply_at(reply, i));
        while (index < tick->next && !text_is(place, tick->admission.outbox[index].place))
            index++;
        if (index == tick->next)
            break;
        place_settled(tick, index, reply_text(reply_at(reply, i + 1)), reply_text(reply_at(reply, i + 2)));
    }
    tick_step(tick);
}

/* True: an answer is to come. */
static bool settle(struct tick *tick)
{
    struct publisher *publisher = tick->publisher;
    size_t left = tick->admission.outbox_count - tick->next, count = left < SETTLE_CHUNK ? left : SETTLE_CHUNK;
    struct settle_chunk chunk;
    settle_chunk_init(&chunk);
    enum err err = settle_chunk_sign(&chunk, publisher->secrets.entry, publisher->options.common.entry_issuer,
                                     text_of(tick->session), tick->admission.outbox + tick->next, count);
    if (err != OK)
        refused(tick, "unsigned", err, NULL);
    tick->next += count;
    err = chunk.count
              ? line_settle(&publisher->line, text_of(tick->session), chunk.count, chunk.args, chunk_answered, tick)
              : ERR_MISSING;
    if (err != OK)
        refused(tick, "unsettled", err, NULL);
    settle_chunk_finish(&chunk);
    return err == OK;
}

/* ---- draw ---- */

static void drawn_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct tick *tick = data;
    if (err != OK) /* the gateways look up who is left in their lobby when the draw is over */
        refused(tick, "drawn-untold", err, reply);
    message_answered(tick);
}

static void draw_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct tick *tick = data;
    struct draw draw;
    draw_decode(err, reply, &draw);
    for (size_t i = 0; i < draw.server_count; i++) {
        struct message drawn = announce_drawn(draw.epoch, text_of(tick->session), buf_view(&draw.servers[i].places));
        message_send(tick, text_of(draw.servers[i].name), &drawn, drawn_answered, tick);
    }
    if (draw.outcome == LINE_FAILED)
        refused(tick, "undrawn", err, reply);
    bool go_on = draw.outcome == LINE_OK && draw.left > 0 && ++tick->chunks < DRAW_CHUNKS;
    if (draw.outcome == LINE_OK)
        tick->admission.more = true; /* the next tick draws on, or opens the line */
    draw_finish(&draw);
    if (!go_on)
        tick->state = TICK_PUBLISH;
    tick_step(tick);
}

/* True: an answer is to come. */
static bool draw(struct tick *tick)
{
    struct publisher *publisher = tick->publisher;
    char epoch[24], most[24];
    snprintf(epoch, sizeof epoch, "%" PRIu64, tick->admission.rev.epoch);
    snprintf(most, sizeof most, "%d", DRAW_CHUNK);
    struct text args[] = {text_of(publisher->id), text_of(epoch), text_of(most)};
    enum err err = line_eval(&publisher->line, &script_draw, text_of(tick->session), 3, args, draw_answered, tick);
    if (err != OK)
        refused(tick, "undrawn", err, NULL);
    return err == OK;
}

/* ---- steps ---- */

/* This process stood still for longer than its lease: another owner may have gone on, and the tokens' times are old.
 * What is left undone comes back from the outbox. */
static bool tick_is_stale(const struct tick *tick)
{
    return clock_mono_ms() - tick->asked_ms > (uint64_t)tick->publisher->options.lease_ms;
}

static void tick_step(struct tick *tick)
{
    switch (tick->state) {
    case TICK_LOAD:
        tick->state = TICK_ADMIT;
        if (tick->owner && admit(tick))
            return;
        break;
    case TICK_ADMIT:
        if (!tick->owner || tick->admission.outcome != LINE_OK)
            break;
        if (tick_is_stale(tick)) {
            refused(tick, "tick-stale", ERR_TIMEOUT, NULL);
            tick->unannounced = true;
            break;
        }
        tick->state = TICK_SETTLE; /* fall through */
        __attribute__((fallthrough));
    case TICK_SETTLE:
        while (tick->owner && tick->next < tick->admission.outbox_count)
            if (settle(tick))
                return;
        if (tick->owner)
            publish(tick);
        tick->state = TICK_DRAW;
        __attribute__((fallthrough));
    case TICK_DRAW:
        if (tick->owner && strcmp(tick->admission.phase, "drawing") == 0 && draw(tick))
            return;
        tick->state = TICK_PUBLISH;
        __attribute__((fallthrough));
    case TICK_PUBLISH:
        if (tick->unanswered > 0)
            return;
        break;
    }
    tick_end(tick);
}

static void admit_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct tick *tick = data;
    struct admission *admission = &tick->admission;
    admission_decode(err, reply, admission);
    if (admission->outcome == LINE_FAILED)
        refused(tick, "unadmitted", err, reply);
    size_t count = admission->outbox_count;
    if (count > 0 && !(tick->told = calloc(count, sizeof *tick->told))) {
        refused(tick, "unsettled", ERR_NOMEM, NULL);
        tick->next = count; /* the outbox keeps them */
    }
    for (size_t i = 0; tick->told && i < count; i++)
        tick->told[i].tick = tick;
    if (tick->owner)
        owner_admitted(tick->owner, admission);
    tick_step(tick);
}

static bool admit(struct tick *tick)
{
    const struct publisher *publisher = tick->publisher;
    struct owner *owner = tick->owner;
    struct admit_order order = {
        .publisher = publisher->id,
        .run_id = publisher->startup.run_id,
        .load = tick->load,
        .load_key = tick->load_key,
        .lease_ms = publisher->options.lease_ms,
        .tick_ms = publisher->options.tick_ms,
        .known = owner->known,
        .announced = owner->announced,
        .settled = (const char(*)[PLACE_ID_LEN + 1]) owner->settled,
        .settled_count = owner->settled_count,
    };
    struct admit_args args;
    admit_args_init(&args, &order);
    return line_eval(&tick->publisher->line, &script_admit, text_of(owner->session), args.count, args.args,
                     admit_answered, tick) == OK;
}

static void load_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct tick *tick = data;
    if (err != OK && err != ERR_REPLY) { /* nobody is admitted by this tick */
        refused(tick, "load-unread", err, NULL);
        tick_end(tick);
        return;
    }
    loads_take(&tick->publisher->loads, tick->load_key, reply, clock_mono_ms(), tick->load);
    if (tick->owner)
        memcpy(tick->owner->load, tick->load, sizeof tick->load);
    tick_step(tick);
}

static bool load_ask(struct tick *tick)
{
    struct line *line = &tick->publisher->line;
    char key[LOAD_KEY_SIZE];
    struct text args[] = {TEXT("GET"), key_load(key, line->prefix, tick->load_key)};
    return line_command(line, 2, args, load_answered, tick) == OK;
}

struct tick *tick_start(struct publisher *publisher, struct owner *owner)
{
    struct tick *tick = calloc(1, sizeof *tick);
    if (!tick)
        return NULL;
    tick->publisher = publisher;
    tick->asked_ms = clock_mono_ms();
    tick->owner = owner;
    memcpy(tick->session, owner->session, sizeof tick->session);
    memcpy(tick->load_key, owner->load_key, sizeof tick->load_key);
    tick->state = tick->load_key[0] ? TICK_LOAD : TICK_ADMIT;
    if (tick->state == TICK_LOAD ? load_ask(tick) : admit(tick))
        return tick;
    tick_free(tick);
    return NULL;
}

void tick_detach(struct tick *tick)
{
    tick->owner = NULL;
}

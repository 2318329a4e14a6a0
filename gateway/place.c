#include "gateway/place.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "gateway/gateway.h"
#include "gateway/session.h"
#include "gateway/sse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct text place_key(const struct map_node *node)
{
    return (struct text){CONTAINER_OF(node, const struct place, node)->id, PLACE_ID_LEN};
}

void places_init(struct gateway *gateway)
{
    map_init(&gateway->places, place_key);
}

struct place *place_find(struct gateway *gateway, struct text id)
{
    struct map_node *node = map_find(&gateway->places, id);
    return node ? CONTAINER_OF(node, struct place, node) : NULL;
}

struct text place_conn(const struct gateway *gateway, uint64_t conn, char dst[CONN_SIZE])
{
    int len = snprintf(dst, CONN_SIZE, "%s:%" PRIu64, gateway->membership.boot, conn);
    return (struct text){dst, (size_t)len};
}

static struct roster *roster_of(const struct place *place)
{
    return place_in_lobby(place) ? &place->session->lobby.roster : &place->session->roster;
}

struct place *place_add(struct gateway *gateway, struct session *session, const struct line_place *answer,
                        uint64_t conn, const char *user)
{
    struct place *older = place_find(gateway, answer->place);
    if (older)
        place_end_superseded(older);
    size_t user_len = strlen(user);
    struct place *place = calloc(1, sizeof *place + user_len + 1);
    if (!place)
        return NULL;
    memcpy(place->id, answer->place.at, PLACE_ID_LEN);
    memcpy(place->user, user, user_len + 1);
    list_init(&place->heartbeat);
    list_init(&place->unsure);
    place->session = session;
    place->ticket = answer->outcome == LINE_LOBBY ? 0 : answer->ticket;
    place->order = answer->order;
    place->epoch = answer->epoch;
    place->conn = conn;
    place->gen = answer->gen;
    place->admitted = answer->outcome == LINE_ADMITTED;
    if (roster_add(roster_of(place), place->ticket, place) != OK) {
        free(place);
        return NULL;
    }
    if (map_insert(&gateway->places, &place->node) != OK) {
        roster_remove(roster_of(place), place->row);
        free(place);
        return NULL;
    }
    push_heartbeat(&gateway->push, place);
    metric_add(session->connections, 1);
    return place;
}

/* From the lobby into the line, or back after data was lost. Without memory for its row the stream ends, and the client
 * comes back. */
static void place_move(struct place *place, uint64_t ticket)
{
    struct session *session = place->session;
    struct roster *roster = roster_of(place);
    uint64_t before = place->ticket;
    uint32_t row = place->row;
    place->ticket = ticket;
    if (roster_add(roster_of(place), ticket, place) != OK) {
        place->ticket = before;
        place_end_retry(place, 1000 + entropy_below(4000));
        return;
    }
    roster_remove(roster, row);
    place->shown = place->first = 0;
    place->renew = true;
    push_session(&session->gateway->push, session);
}

void place_draw(struct place *place, uint64_t ticket)
{
    if (place_in_lobby(place) && ticket > 0)
        place_move(place, ticket);
}

void place_update(struct gateway *gateway, struct place *place, const struct line_place *answer)
{
    (void)gateway;
    place->gen = answer->gen;
    place->epoch = answer->epoch;
    place->order = answer->order;
    place->admitted = answer->outcome == LINE_ADMITTED;
    if (place_in_lobby(place) != (answer->outcome == LINE_LOBBY)) {
        place_move(place, answer->ticket);
    } else if (answer->ticket != place->ticket) { /* rows are found by index, so the order may be mended in place */
        place->ticket = answer->ticket;
        place->session->roster.rows[place->row].ticket = answer->ticket;
        place->session->roster.sorted = false;
        place->shown = 0;
    }
}

void place_forget(struct place *place)
{
    struct session *session = place->session;
    map_remove(&session->gateway->places, &place->node);
    roster_remove(roster_of(place), place->row);
    list_remove(&place->heartbeat);
    list_remove(&place->unsure);
    metric_add(session->connections, -1);
    free(place);
}

enum err place_ticket(const struct place *place, char *dst, size_t size)
{
    struct ticket ticket = {.epoch = place->epoch,
                            .number = place->ticket,
                            .order = place->order,
                            .gen = place->gen,
                            .first = place->first};
    memcpy(ticket.session, place->session->id, sizeof ticket.session);
    memcpy(ticket.place, place->id, PLACE_ID_LEN);
    snprintf(ticket.user, sizeof ticket.user, "%s", place->user);
    return token_sign_ticket(place->session->gateway->keys.ticket, &ticket, dst, size);
}

/* ---- the stream's owner ---- */

static void place_drained(void *data)
{
    struct place *place = data;
    push_one(&place->session->gateway->push, place);
}

static void place_park(struct place *place)
{
    struct gateway *gateway = place->session->gateway;
    char conn[CONN_SIZE];
    parks_add(&gateway->parks, place->session->name, place_id(place), place_conn(gateway, place->conn, conn),
              text_of(place->user), false);
}

static void place_lost(void *data, const char *reason)
{
    struct place *place = data;
    struct gateway *gateway = place->session->gateway;
    metrics_add(gateway->metrics, METER_CONNECTIONS_CLOSED, 1, reason, NULL, NULL);
    place_park(place);
    place_forget(place);
}

const struct http_stream_owner place_stream_owner = {.on_drain = place_drained, .on_closed = place_lost};

/* ---- ends ---- */

static void place_end(struct place *place, struct sse *sse, const char *event, const char *reason)
{
    struct gateway *gateway = place->session->gateway;
    struct http_stream *stream = place->stream;
    metrics_add(gateway->metrics, METER_FRAMES, 1, event, NULL, NULL);
    metrics_add(gateway->metrics, METER_CONNECTIONS_CLOSED, 1, reason, NULL, NULL);
    place_forget(place);
    if (stream)
        http_stream_finish(stream, sse_payload(sse), sse->broken ? 0 : sse->len);
}

/* A terminal event's id: the ticket and ".e", so that the browser's own reconnect is told 204. */
static void terminal_id(struct place *place, struct sse *sse)
{
    char ticket[TOKEN_MAX];
    sse_start(sse);
    bool signed_ok = place_ticket(place, ticket, sizeof ticket) == OK;
    sse_id(sse, signed_ok ? text_of(ticket) : TEXT(""), true);
}

void place_end_entry(struct place *place, struct text token, int64_t admitted_ms, const char *how)
{
    static struct sse sse; /* one thread, and never across a return */
    struct session *session = place->session;
    struct gateway *gateway = session->gateway;
    struct sse_entry entry = {session->name, token, text_of(session->entry_url), text_of(session->entry_method),
                              admitted_ms,   0};
    int64_t issued_s = 0;
    enum err err = token_entry_times(token, &issued_s, &entry.expires_s);
    if (err == ERR_NOMEM)
        return; /* the sweep comes back to it */
    if (err != OK) {
        log_event(LOG_ERROR, "entry-token-unreadable", LOG_T("session", session->name),
                  LOG_T("place", place_id(place)));
        metrics_add(gateway->metrics, METER_MESSAGES_BAD, 1, NULL, NULL, NULL);
        return;
    }
    if (admitted_ms <= 0)
        entry.admitted_ms = issued_s * 1000;
    else
        metric_observe(gateway->meters.entry_delivery,
                       (double)(membership_redis_now_ms(&gateway->membership) - admitted_ms) / 1000);
    terminal_id(place, &sse);
    sse_entry(&sse, &entry);
    log_event(LOG_DEBUG, "entry", LOG_T("session", session->name), LOG_T("place", place_id(place)), LOG_S("how", how));
    place_end(place, &sse, "entry", "entered");
}

void place_end_closed(struct place *place, struct text reason)
{
    static struct sse sse;
    terminal_id(place, &sse);
    sse_closed(&sse, place->session->name, reason);
    place_end(place, &sse, "closed", "closed");
}

void place_end_superseded(struct place *place)
{
    static struct sse sse;
    terminal_id(place, &sse);
    sse_superseded(&sse, place->session->name);
    place_end(place, &sse, "superseded", "superseded");
}

void place_end_retry(struct place *place, uint32_t retry_ms)
{
    static struct sse sse;
    sse_start(&sse);
    sse_retry(&sse, retry_ms);
    sse_comment(&sse);
    place_park(place);
    place_end(place, &sse, "retry", "drained");
}

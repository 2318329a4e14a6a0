#include "gateway/session.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/log.h"
#include "gateway/gateway.h"
#include "gateway/place.h"
#include "gateway/sse.h"

#include <stdlib.h>

static struct text session_key(const struct map_node *node)
{
    return CONTAINER_OF(node, const struct session, node)->name;
}

void sessions_init(struct gateway *gateway)
{
    map_init(&gateway->sessions, session_key);
}

static void session_free(struct session *session)
{
    push_cancel(session);
    positions_finish(&session->positions);
    roster_finish(&session->roster);
    roster_finish(&session->lobby.roster);
    restoration_finish(&session->restoration);
    free(session->notice);
    free(session->info);
    free(session);
}

void sessions_finish(struct gateway *gateway)
{
    MAP_EACH(&gateway->sessions, node, next, cursor)
    {
        session_free(CONTAINER_OF(node, struct session, node));
    }
    map_finish(&gateway->sessions);
}

struct session *session_find(struct gateway *gateway, struct text id)
{
    struct map_node *node = map_find(&gateway->sessions, id);
    return node ? CONTAINER_OF(node, struct session, node) : NULL;
}

static void row_moved(struct place *place, size_t index)
{
    place->row = (uint32_t)index;
}

/* One that was deleted and has nothing left to do. */
static void forget_a_deleted_one(struct gateway *gateway)
{
    MAP_EACH(&gateway->sessions, node, next, cursor)
    {
        struct session *session = CONTAINER_OF(node, struct session, node);
        if (session->known || session->roster.len > 0 || session->lobby.roster.len > 0 || session->syncing ||
            session->peeking || restoration_busy(&session->restoration))
            continue;
        map_remove(&gateway->sessions, node);
        metrics_drop(gateway->metrics, session->id);
        session_free(session);
        return;
    }
}

struct session *session_get(struct gateway *gateway, struct text id)
{
    struct session *session = session_find(gateway, id);
    if (!session && gateway->sessions.len >= SESSIONS_MAX)
        forget_a_deleted_one(gateway);
    if (session || gateway->sessions.len >= SESSIONS_MAX)
        return session;
    session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->gateway = gateway;
    CHECK(text_copy(session->id, sizeof session->id, id) == OK);
    session->name = text_of(session->id);
    positions_init(&session->positions);
    roster_init(&session->roster, row_moved);
    roster_init(&session->lobby.roster, row_moved);
    list_init(&session->push_link);
    session->connections = metrics_series(gateway->metrics, METER_CONNECTIONS, session->id, NULL, NULL);
    if (map_insert(&gateway->sessions, &session->node) != OK) {
        session_free(session);
        return NULL;
    }
    return session;
}

/* ---- the operator's word ---- */

static void take_notice(struct session *session, struct text text, int64_t at_ms)
{
    struct buf json;
    if (at_ms <= session->notice_at_ms)
        return;
    buf_init(&json, 2 * NOTICE_TEXT_MAX + 1);
    if (text.len <= NOTICE_TEXT_MAX && buf_json(&json, text) == OK && buf_append(&json, "", 1) == OK) {
        free(session->notice);
        session->notice = json.data; /* taken over */
        session->notice_at_ms = at_ms;
        session->notice_seq++;
        lobby_tell(session);
        push_session(&session->gateway->push, session);
        return;
    }
    buf_finish(&json);
    log_event(LOG_ERROR, "notice-refused", LOG_T("session", session->name));
}

void session_notice(const struct session *session, bool newcomer, struct sse *sse)
{
    if (session->notice && (session->notice[0] || !newcomer))
        sse_notice(sse, session->name, text_of(session->notice), session->notice_at_ms);
}

struct line_known session_known(const struct session *session)
{
    if (!session || !session->known)
        return (struct line_known){0, 0};
    struct line_known known = {session->positions.epoch, session->positions.tail};
    if (session->epoch_seen == known.epoch && session->restoration.tail_seen > known.tail)
        known.tail = session->restoration.tail_seen;
    return known;
}

struct line_known session_known_by(const struct session *session, const struct ticket *ticket)
{
    struct line_known known = session_known(session);
    if (ticket->epoch > known.epoch)
        return (struct line_known){ticket->epoch, ticket->number};
    if (ticket->epoch == known.epoch && ticket->number > known.tail)
        known.tail = ticket->number;
    return known;
}

bool session_take_picture(struct session *session, const struct line_picture *picture)
{
    struct positions *positions = &session->positions;
    if (session->known && picture->epoch == positions->epoch && picture->rev < positions->rev)
        return false;
    bool restoring = text_is(picture->phase, "restoring");
    if (session->known && (picture->epoch < positions->epoch || (restoring && picture->epoch > positions->epoch &&
                                                                 picture->epoch != session->restoration.opened_epoch)))
        restoration_open(session, picture->epoch < positions->epoch ? "Redis has an older epoch" : "opened by another");
    if (session->known && picture->epoch < positions->epoch)
        return false;
    struct positions_picture load = {.epoch = picture->epoch,
                                     .rev = picture->rev,
                                     .base = picture->base,
                                     .head = picture->head,
                                     .tail = picture->tail,
                                     .waiting = picture->waiting,
                                     .first = picture->first,
                                     .bits = picture->bits};
    enum err err = positions_load(positions, &load);
    if (err != OK) {
        log_event(LOG_ERROR, "picture-refused", LOG_T("session", session->name), LOG_S("reason", err_text(err)));
        return false;
    }
    if (session->epoch_seen != picture->epoch) {
        session->restoration.tail_seen = picture->tail;
        session->restoration.head_seen = picture->head;
        session->closing[0] = '\0'; /* who was let go then is not who waits now */
        session->notice_at_ms = 0;
        free(session->notice);
        session->notice = NULL;
    }
    session->epoch_seen = picture->epoch;
    session->restoring = restoring;
    session->walk_front = UINT64_MAX; /* a walk under way counts anew */
    session->known = true;
    session->paused = text_is(picture->status, "paused");
    lobby_take_picture(session, picture);
    take_notice(session, picture->notice, picture->notice_at_ms);
    restoration_picture(session, picture);
    session->many = text_is(picture->per_user, "many");
    if (text_copy(session->entry_url, sizeof session->entry_url, picture->entry_url) != OK ||
        text_copy(session->entry_method, sizeof session->entry_method, picture->entry_method) != OK)
        session->entry_url[0] = '\0';
    return true;
}

void session_deleted(struct session *session)
{
    log_event(LOG_INFO, "session-deleted", LOG_T("session", session->name));
    session->known = false;
    session_close_all(session, TEXT("closed"), UINT64_MAX);
}

static void session_synced(void *data, enum err err, const struct redis_reply *reply)
{
    struct session *session = data;
    struct line_picture picture;
    line_picture_decode(err, reply, &picture);
    session->syncing = false;
    if (picture.outcome == LINE_OK) {
        if (session_take_picture(session, &picture))
            push_session(&session->gateway->push, session);
    } else if (picture.outcome == LINE_DELETED) {
        session_deleted(session);
    } else if (picture.outcome == LINE_NONE) {
        restoration_open(session, "Redis has nothing of a session that is served here");
    } else if (picture.outcome != LINE_FAILED) {
        log_event(LOG_WARN, "sync-refused", LOG_T("session", session->name),
                  LOG_S("reason", line_outcome_text(picture.outcome)));
    }
    if (session->again) {
        session->again = false;
        session_sync(session);
    }
}

void session_sync(struct session *session)
{
    if (session->syncing) {
        session->again = true;
        return;
    }
    /* A failure costs until the next sweep, which asks again. */
    session->syncing = line_sync(&session->gateway->line, session->name, session_synced, session) == OK;
}

void session_close_all(struct session *session, struct text reason, uint64_t tail)
{
    if (text_copy(session->closing, sizeof session->closing, reason) != OK)
        return;
    session->closing_tail = tail;
    for (size_t i = session->roster.len; i > 0; i--) {
        if (i > session->roster.len) /* the end was trimmed meanwhile */
            continue;
        struct roster_row *row = &session->roster.rows[i - 1];
        if (!row->place || row->ticket > tail)
            continue;
        if (positions_departed(&session->positions, row->ticket))
            place_end_closed(row->place, reason);
        else
            sweep_look_up(&session->gateway->sweep, row->place);
    }
    session->lobby.unsure = true;
    if (tail == UINT64_MAX ||
        session->lobby.waiting == 0) /* else the next sweep, as the chunks of a long lobby follow */
        lobby_sweep(session);
}

struct text session_closing(const struct session *session, uint64_t ticket)
{
    return session->closing[0] && ticket <= session->closing_tail ? text_of(session->closing) : TEXT("expired");
}

static void take_waiting_state(struct session *session, const struct message *message)
{
    struct positions *positions = &session->positions;
    if (session->known &&
        (message->epoch < positions->epoch || (message->epoch == positions->epoch && message->rev <= positions->rev)))
        return;
    session->pace = message->pace;
    session->restoration.admitted = message->admitted;
    session->restoring = text_is(message->phase, "restoring");
    lobby_take_state(session, message->lobby, message->phase);
    session->paused = text_is(message->status, "paused");
    bool next = session->known && message->epoch == positions->epoch && message->rev == positions->rev + 1 &&
                !text_is(message->departed, "*");
    if (!next || positions_advance(positions, message->rev, message->base, message->head, message->tail,
                                   message->waiting, message->departed) != OK) {
        session_sync(session);
        return;
    }
    push_session(&session->gateway->push, session);
}

static void take_drawn(struct session *session, const struct message *message)
{
    struct text rest = message->places, id;
    uint64_t ticket;
    while (drawn_next(&rest, &id, &ticket)) {
        struct place *place = place_find(session->gateway, id);
        if (place && place->session == session && place->epoch == message->epoch)
            place_draw(place, ticket);
    }
}

void session_message(struct session *session, const struct message *message)
{
    struct gateway *gateway = session->gateway;
    struct place *place = message->place.at ? place_find(gateway, message->place) : NULL;
    switch (message->type) {
    case MESSAGE_WAITING_STATE:
        take_waiting_state(session, message);
        break;
    case MESSAGE_ENTRY:
        if (message->ticket > session->restoration.head_seen && message->epoch == session->positions.epoch)
            session->restoration.head_seen = message->ticket;
        if (place && place->session == session)
            place_end_entry(place, message->token, message->admitted_ms, "message");
        break;
    case MESSAGE_SUPERSEDED:
        if (place && place->gen <= message->gen)
            place_end_superseded(place);
        break;
    case MESSAGE_CLOSED:
        if (message->place.at && place)
            place_end_closed(place, message->reason);
        else if (!message->place.at)
            session_close_all(session, message->reason, message->tail);
        break;
    case MESSAGE_DRAWN:
        take_drawn(session, message);
        break;
    case MESSAGE_NOTICE:
        take_notice(session, message->text, message->at_ms);
        break;
    case MESSAGE_UNKNOWN:
        break;
    }
}

#include "gateway/push.h"

#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "gateway/gateway.h"
#include "gateway/place.h"
#include "gateway/session.h"
#include "gateway/sse.h"

#define ROWS_PER_SLICE 2048

static void push_run(uv_idle_t *idle);
static void push_due(uv_timer_t *timer);

void push_init(struct push *push, struct gateway *gateway)
{
    *push = (struct push){.gateway = gateway, .now_s = 1};
    list_init(&push->work);
    list_init(&push->deferred);
    list_init(&push->silent);
    for (size_t i = 0; i < HEARTBEAT_RING; i++)
        list_init(&push->ring[i]);
    uv_idle_init(gateway->loop, &push->idle);
    uv_timer_init(gateway->loop, &push->due);
    push->idle.data = push->due.data = push;
}

void push_close(struct push *push)
{
    uv_close((uv_handle_t *)&push->idle, NULL);
    uv_close((uv_handle_t *)&push->due, NULL);
}

static void push_start(struct push *push)
{
    if (!push->running && !uv_is_closing((uv_handle_t *)&push->idle))
        push->running = uv_idle_start(&push->idle, push_run) == 0;
}

void push_cancel(struct session *session)
{
    list_remove(&session->push_link);
}

static void work_on(struct push *push, struct session *session)
{
    list_remove(&session->push_link);
    list_append(&push->work, &session->push_link);
    push_start(push);
}

void push_session(struct push *push, struct session *session)
{
    session->near_wanted = session->push_wanted = true;
    session->changed_s = push->now_s;
    if (session->refresh_s == 0)
        session->refresh_s = push->now_s + PUSH_REFRESH_S;
    work_on(push, session);
}

/* ---- one frame ---- */

/* The place got its ticket by a draw: the resume ticket that says so. */
static bool renew_id(struct place *place, struct sse *sse)
{
    char ticket[TOKEN_MAX];
    if (place_ticket(place, ticket, sizeof ticket) != OK)
        return false;
    sse_id(sse, text_of(ticket), false);
    return true;
}

bool push_send(struct push *push, struct place *place, struct sse *sse, uint32_t shown)
{
    if (sse->broken)
        return false;
    switch (http_stream_send(place->stream, sse_payload(sse), sse->len)) {
    case HTTP_SENT:
    case HTTP_QUEUED:
        place->shown = shown;
        place->noticed = place->session->notice_seq;
        place->told_s = place->sent_s = push->now_s;
        return true;
    case HTTP_BUSY: /* the newest wins: whatever holds when the socket drains */
        place->dirty = true;
        metric_add(push->gateway->meters.frames_coalesced, 1);
        return false;
    case HTTP_BROKEN:
        return false;
    }
    return false;
}

/* Writes PLACE's state if it differs from what it was shown. True when something was sent. */
static bool push_place(struct push *push, struct place *place, uint64_t position)
{
    static struct sse sse;
    struct session *session = place->session;
    if (position == 0 || !place->stream || place->admitted || session->restoring)
        return false;
    if (place->shown && position > place->shown)
        position = place->shown;
    bool noticed = place->noticed == session->notice_seq;
    bool stale = place->told_s <= session->changed_s && push->now_s - place->told_s >= PUSH_REFRESH_S;
    if (position == place->shown && place->paused_shown == session->paused && !stale && noticed && !place->renew)
        return false;
    if (place->first == 0)
        place->first = (uint32_t)position;
    struct sse_state state = {session->name, session->paused, position, session->positions.waiting,
                              place->first,  &session->pace};
    sse_start(&sse);
    if (place->renew && !renew_id(place, &sse))
        return false;
    if (!noticed)
        session_notice(session, place->noticed == 0, &sse);
    sse_waiting_state(&sse, &state);
    if (!push_send(push, place, &sse, (uint32_t)position))
        return false;
    place->paused_shown = session->paused;
    place->renew = false;
    metric_add(push->gateway->meters.frames_state, 1);
    return true;
}

void push_one(struct push *push, struct place *place)
{
    if (!place->dirty)
        return;
    if (place_in_lobby(place)) {
        lobby_push_one(push, place);
        return;
    }
    place->dirty = false;
    push_place(push, place, positions_of(&place->session->positions, place->ticket));
}

/* ---- walks ---- */

/* Position of the row at the walk's cursor; rows that were added behind a walk may be out of order. */
static uint64_t walk_position(struct session *session, uint64_t ticket)
{
    const struct positions *positions = &session->positions;
    if (session->walk_front != positions->rev) {
        positions_walk_start(positions, &session->walk);
        session->walk_front = positions->rev;
    }
    if (ticket < session->walk.ticket || positions_departed(positions, ticket))
        return positions_of(positions, ticket);
    return positions_walk_to(positions, &session->walk, ticket);
}

static size_t walk_near(struct push *push, struct session *session)
{
    size_t sent = 0, told = 0;
    struct positions_walk walk;
    positions_walk_start(&session->positions, &walk);
    for (size_t i = 0; i < session->roster.len && told < PUSH_NEAR; i++) {
        struct roster_row row = session->roster.rows[i];
        if (!row.place)
            continue;
        uint64_t position = row.ticket < walk.ticket || positions_departed(&session->positions, row.ticket)
                                ? positions_of(&session->positions, row.ticket)
                                : positions_walk_to(&session->positions, &walk, row.ticket);
        told += position > 0;
        sent += push_place(push, row.place, position);
    }
    return sent;
}

static void walk_begin(struct session *session, uint64_t now_ms)
{
    roster_tidy(&session->roster);
    positions_walk_start(&session->positions, &session->walk);
    session->walk_front = session->positions.rev;
    session->cursor = 0;
    session->pushing = true;
    session->push_wanted = false;
    session->pushed_ms = now_ms;
}

/* Some sends of the walk over everybody. */
static void walk_on(struct push *push, struct session *session, size_t budget)
{
    size_t sent = 0;
    for (size_t rows = 0; rows < ROWS_PER_SLICE && sent < budget && session->cursor < session->roster.len; rows++) {
        struct roster_row row = session->roster.rows[session->cursor++];
        if (row.place)
            sent += push_place(push, row.place, walk_position(session, row.ticket));
    }
    if (session->cursor >= session->roster.len)
        session->pushing = false;
}

static void session_slice(struct push *push, struct session *session)
{
    uint64_t now_ms = clock_mono_ms();
    size_t sent = 0;
    if (session->near_wanted) {
        session->near_wanted = false;
        if (!session->pushing)
            roster_tidy(&session->roster);
        sent = walk_near(push, session);
    }
    if (!session->pushing && session->push_wanted && now_ms - session->pushed_ms >= PUSH_WHOLE_MS)
        walk_begin(session, now_ms);
    if (session->pushing && sent < PUSH_SLICE)
        walk_on(push, session, PUSH_SLICE - sent);
    if (sent < PUSH_SLICE)
        lobby_slice(push, session, PUSH_SLICE - sent);
    list_remove(&session->push_link);
    if (session->pushing || session->lobby.walking)
        list_append(&push->work, &session->push_link);
    else if (session->push_wanted) {
        uint64_t passed = now_ms - session->pushed_ms;
        list_append(&push->deferred, &session->push_link);
        if (!uv_is_active((uv_handle_t *)&push->due))
            uv_timer_start(&push->due, push_due, passed < PUSH_WHOLE_MS ? PUSH_WHOLE_MS - passed : 0, 0);
    }
}

/* Deferred walks are all tried again; one that came too early is deferred anew for the rest. */
static void push_due(uv_timer_t *timer)
{
    struct push *push = timer->data;
    struct list *link;
    while ((link = list_first(&push->deferred)) != NULL)
        work_on(push, CONTAINER_OF(link, struct session, push_link));
}

/* ---- comments ---- */

static void ring_put(struct push *push, struct place *place, uint32_t due_s)
{
    list_remove(&place->heartbeat);
    list_append(&push->ring[due_s % HEARTBEAT_RING], &place->heartbeat);
}

void push_heartbeat(struct push *push, struct place *place)
{
    uint32_t every = (uint32_t)push->gateway->options.heartbeat_s;
    place->told_s = place->sent_s = push->now_s;
    ring_put(push, place, push->now_s + 1 + entropy_below(every));
}

static void comment_slice(struct push *push)
{
    static struct sse sse;
    uint32_t every = (uint32_t)push->gateway->options.heartbeat_s;
    for (int i = 0; i < PUSH_SLICE && !list_empty(&push->silent); i++) {
        struct place *place = CONTAINER_OF(list_first(&push->silent), struct place, heartbeat);
        uint32_t quiet = push->now_s - place->sent_s;
        if (quiet >= every) {
            sse_start(&sse);
            sse_comment(&sse);
            if (place->stream)
                http_stream_send(place->stream, sse_payload(&sse), sse.len);
            place->sent_s = push->now_s; /* a busy socket has bytes on the way already */
            quiet = 0;
        }
        ring_put(push, place, push->now_s + every - quiet);
    }
}

/* Those whose position did not change, while other figures of their frame did. */
static void refresh_all(struct push *push)
{
    MAP_EACH(&push->gateway->sessions, node, next, cursor)
    {
        struct session *session = CONTAINER_OF(node, struct session, node);
        if (lobby_due(session, push->now_s))
            lobby_tell(session);
        if (session->refresh_s == 0 || session->refresh_s > push->now_s)
            continue;
        session->refresh_s = 0;
        session->near_wanted = session->push_wanted = true;
        work_on(push, session);
    }
}

void push_second(struct push *push)
{
    push->now_s++;
    refresh_all(push);
    struct list *due = &push->ring[push->now_s % HEARTBEAT_RING], *link;
    while ((link = list_first(due)) != NULL) {
        list_remove(link);
        list_append(&push->silent, link);
    }
    if (!list_empty(&push->silent))
        push_start(push);
}

/* ---- the slice ---- */

static void push_run(uv_idle_t *idle)
{
    struct push *push = idle->data;
    comment_slice(push);
    struct list *link = list_first(&push->work);
    if (link)
        session_slice(push, CONTAINER_OF(link, struct session, push_link));
    if (list_empty(&push->work) && list_empty(&push->silent)) {
        uv_idle_stop(&push->idle);
        push->running = false;
    }
}

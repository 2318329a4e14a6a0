#include "gateway/sweep.h"

#include "common/base/log.h"
#include "gateway/gateway.h"
#include "gateway/place.h"
#include "gateway/session.h"

#include <stdlib.h>

/* One lookup of one place. It finds the place again by id and conn: the connection may be gone when the answer comes.
 */
struct lookup {
    struct sweep *sweep;
    uint64_t conn;
    char place[PLACE_ID_LEN];
};

void sweep_init(struct sweep *sweep, struct gateway *gateway)
{
    *sweep = (struct sweep){.gateway = gateway};
    list_init(&sweep->unsure);
}

static void lookup_decide(struct place *place, const struct line_place *answer)
{
    struct session *session = place->session;
    struct gateway *gateway = session->gateway;
    enum line_outcome outcome = answer->outcome;
    if (outcome == LINE_ENTERED) {
        metric_add(gateway->meters.entries_swept, 1);
        place_end_entry(place, answer->token, 0, "sweep");
    } else if (outcome == LINE_WAITING || outcome == LINE_ADMITTED || outcome == LINE_LOBBY) {
        place_update(gateway, place, answer);
    } else if (outcome == LINE_MOVED) {
        place_end_superseded(place);
    } else if (outcome == LINE_GONE && answer->epoch == place->epoch) {
        place_end_closed(place, session_closing(session, place->ticket));
    } else if (outcome == LINE_GONE) { /* its epoch is over: first it is put back where its ticket allows */
        restoration_put(session);
    } else if (outcome == LINE_DELETED) {
        place_end_closed(place, TEXT("closed"));
    } /* else Redis is away or restoring: the next sweep asks again */
}

/* Sends what is waiting to be looked up, as far as the bound allows. */
static void sweep_pump(struct sweep *sweep);

static void lookup_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct lookup *lookup = data;
    struct sweep *sweep = lookup->sweep;
    struct place *place = place_find(sweep->gateway, (struct text){lookup->place, PLACE_ID_LEN});
    struct line_place answer;
    line_place_decode(err, reply, &answer);
    bool answered = answer.outcome != LINE_FAILED && answer.outcome != LINE_UNAVAILABLE && answer.outcome != LINE_LOST;
    sweep->under_way--;
    if (place && place->conn == lookup->conn) {
        place->asked = false;
        if (answer.outcome == LINE_LOST)
            restoration_open(place->session, "Redis does not know a ticket that it gave");
        if (answered)
            lookup_decide(place, &answer);
        else if (list_empty(&place->unsure))
            list_append(&sweep->unsure, &place->unsure); /* the next second asks again */
    }
    free(lookup);
    if (answered)
        sweep_pump(sweep);
}

static bool lookup_send(struct sweep *sweep, struct place *place)
{
    struct gateway *gateway = sweep->gateway;
    char conn[CONN_SIZE];
    struct lookup *lookup = malloc(sizeof *lookup);
    if (!lookup)
        return false;
    *lookup = (struct lookup){.sweep = sweep, .conn = place->conn};
    memcpy(lookup->place, place->id, PLACE_ID_LEN);
    struct text name = place_conn(gateway, place->conn, conn);
    struct line_resume resume = {
        .session = place->session->name,
        .place = place_id(place),
        .server = membership_name(&gateway->membership),
        .conn = name,
        .mode = TEXT("stream"),
        .expect = name,
        .gen = place->gen,
        .known = {place->epoch, place->ticket}, /* older data must not tell that it is gone */
    };
    if (line_resume(&gateway->line, &resume, lookup_answered, lookup) != OK) {
        free(lookup);
        return false;
    }
    place->asked = true;
    sweep->under_way++;
    return true;
}

static void sweep_pump(struct sweep *sweep)
{
    struct list *link;
    while (sweep->under_way < SWEEP_LOOKUPS && (link = list_first(&sweep->unsure)) != NULL) {
        struct place *place = CONTAINER_OF(link, struct place, unsure);
        if (!lookup_send(sweep, place))
            return;
        list_remove(link);
    }
}

void sweep_look_up(struct sweep *sweep, struct place *place)
{
    if (place->asked || !list_empty(&place->unsure))
        return;
    list_append(&sweep->unsure, &place->unsure);
    sweep_pump(sweep);
}

/* ---- has Redis gone on without us ---- */

static void peek_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct session *session = data;
    session->peeking = false;
    if (err != OK)
        return;
    uint64_t epoch = (uint64_t)reply_int(reply_at(reply, 0), 0), rev = (uint64_t)reply_int(reply_at(reply, 1), 0);
    if (text_is(reply_text(reply_at(reply, 2)), "deleted")) {
        session_sync(session);
        return;
    }
    if (epoch == 0) {
        restoration_open(session, "Redis has nothing of a session that is served here");
        return;
    }
    /* Older than what was known when the question was asked: messages may have overtaken the answer since. */
    const struct positions *known = &session->positions;
    uint64_t tail = (uint64_t)reply_int(reply_at(reply, 3), 0);
    if (epoch < session->peek_epoch ||
        (epoch == session->peek_epoch && (rev < session->peek_rev || tail < session->peek_tail))) {
        restoration_open(session, "Redis has older data");
    } else if (!session->known || epoch > known->epoch || (epoch == known->epoch && rev > known->rev)) {
        session_sync(session);
    }
}

static void peek(struct sweep *sweep, struct session *session)
{
    if (session->peeking)
        return;
    session->peek_epoch = session->known ? session->positions.epoch : 0;
    session->peek_rev = session->known ? session->positions.rev : 0;
    session->peek_tail = session_known(session).tail;
    session->peeking = line_peek(&sweep->gateway->line, session->name, peek_answered, session) == OK;
}

/* Rows that cannot be waiting: their entry is on its way, or was lost on it. */
static void check_overdue(struct sweep *sweep, struct session *session)
{
    uint64_t front = positions_front(&session->positions);
    uint32_t now_s = sweep->gateway->push.now_s;
    if (!session->pushing)
        roster_tidy(&session->roster);
    for (size_t i = 0; i < session->roster.len; i++) {
        struct roster_row *row = &session->roster.rows[i];
        if (row->ticket > front && session->roster.sorted)
            break;
        if (!row->place || row->ticket > front)
            continue;
        if (row->place->overdue_s == 0)
            row->place->overdue_s = now_s;
        else if (now_s - row->place->overdue_s >= SWEEP_S)
            sweep_look_up(sweep, row->place);
    }
}

/* A slow round over all open connections, and at once those whose ticket departed: nothing stays wrong for ever. */
static void audit(struct sweep *sweep, struct session *session)
{
    size_t line = session->roster.len, len = line + session->lobby.roster.len;
    session->audit_credit += sweep->audit *
                             (double)(roster_count(&session->roster) + roster_count(&session->lobby.roster)) /
                             (double)sweep->gateway->places.len;
    for (size_t n = 0; n < len && session->audit_credit >= 1; n++) {
        size_t at = session->audited++ % len;
        struct place *place = at < line ? session->roster.rows[at].place : session->lobby.roster.rows[at - line].place;
        if (!place)
            continue;
        sweep_look_up(sweep, place);
        session->audit_credit -= 1;
    }
    for (size_t i = 0; i < session->roster.len; i++)
        if (session->roster.rows[i].place && positions_departed(&session->positions, session->roster.rows[i].ticket))
            sweep_look_up(sweep, session->roster.rows[i].place);
}

static size_t connected(const struct session *session)
{
    return roster_count(&session->roster) + roster_count(&session->lobby.roster);
}

static void compare(struct sweep *sweep, struct session *session)
{
    if (connected(session) > 0 || session_known(session).tail > session->positions.tail)
        peek(sweep, session);
}

void sweep_compare(struct sweep *sweep)
{
    MAP_EACH(&sweep->gateway->sessions, node, next, cursor)
    {
        peek(sweep, CONTAINER_OF(node, struct session, node));
    }
}

static void sweep_session(struct sweep *sweep, struct session *session)
{
    size_t in_line = roster_count(&session->roster);
    compare(sweep, session);
    if (connected(session) == 0)
        return;
    if (in_line > 0)
        check_overdue(sweep, session);
    audit(sweep, session);
    lobby_sweep(session);
    restoration_put(session);
}

void sweep_resynchronise(struct sweep *sweep, const char *why)
{
    MAP_EACH(&sweep->gateway->sessions, node, next, cursor)
    {
        struct session *session = CONTAINER_OF(node, struct session, node);
        session_sync(session);
        for (size_t i = 0; i < session->roster.len; i++)
            if (session->roster.rows[i].place)
                sweep_look_up(sweep, session->roster.rows[i].place);
        lobby_look_up_all(session);
    }
    if (sweep->gateway->places.len > 0)
        log_event(LOG_INFO, "resynchronise", LOG_S("reason", why), LOG_I("places", sweep->gateway->places.len));
}

void sweep_second(struct sweep *sweep)
{
    if (!redis_is_up(sweep->gateway->line.redis))
        return;
    sweep_pump(sweep);
    if (++sweep->seconds % SWEEP_S != 0)
        return;
    sweep->audit = SWEEP_AUDIT + (double)sweep->gateway->places.len / 64;
    MAP_EACH(&sweep->gateway->sessions, node, next, cursor)
    {
        sweep_session(sweep, CONTAINER_OF(node, struct session, node));
    }
}

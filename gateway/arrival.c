#include "gateway/arrival.h"

#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "common/line/message.h"
#include "gateway/gateway.h"
#include "gateway/place.h"
#include "gateway/refusal.h"
#include "gateway/session.h"

#include <stdlib.h>

static void arrival_step(void *data, enum err err, const struct redis_reply *reply);

static void arrival_gone(void *data)
{
    struct arrival *arrival = data;
    arrival->request = NULL;
}

static void arrival_end(struct arrival *arrival)
{
    arrival->gateway->joins_under_way--;
    free(arrival);
}

uint32_t arrival_first(const struct arrival *arrival, const struct line_place *answer)
{
    const struct ticket *ticket = &arrival->visitor.ticket;
    bool same = arrival->visitor.has_ticket && text_is(answer->place, ticket->place);
    return same && ticket->first > answer->position ? ticket->first : (uint32_t)answer->position;
}

/* Whoever has the place by this connection has nobody behind it. */
static void arrival_park(struct arrival *arrival, struct text place, bool short_stay)
{
    char conn[CONN_SIZE];
    parks_add(&arrival->gateway->parks, text_of(arrival->visitor.session), place,
              place_conn(arrival->gateway, arrival->conn, conn), text_of(arrival->visitor.user), short_stay);
}

static void arrival_refuse(struct arrival *arrival, const struct line_place *answer, bool served)
{
    if (arrival->request)
        refuse_outcome(arrival->gateway, arrival->request, answer, served);
    arrival_end(arrival);
}

static enum err arrival_join(struct arrival *arrival, const struct session *session)
{
    struct gateway *gateway = arrival->gateway;
    uint8_t random[16];
    char conn[CONN_SIZE];
    if (clock_mono_ms() < gateway->newcomers_from_ms)
        return ERR_UNSENT;
    entropy_fill(random, sizeof random);
    base64url_encode(arrival->place, random, sizeof random);
    struct line_join join = {
        .session = text_of(arrival->visitor.session),
        .place = text_of(arrival->place),
        .user = text_of(arrival->visitor.user),
        .server = membership_name(&gateway->membership),
        .conn = place_conn(gateway, arrival->conn, conn),
        .mode = text_of(arrival->mode),
        .known = session_known(session),
    };
    arrival->state = ARRIVAL_JOIN;
    return line_join(&gateway->line, &join, arrival_step, arrival);
}

static enum err arrival_resume(struct arrival *arrival, const struct session *session)
{
    struct gateway *gateway = arrival->gateway;
    char conn[CONN_SIZE];
    memcpy(arrival->place, arrival->visitor.ticket.place, sizeof arrival->place);
    struct line_resume resume = {
        .session = text_of(arrival->visitor.session),
        .place = text_of(arrival->place),
        .server = membership_name(&gateway->membership),
        .conn = place_conn(gateway, arrival->conn, conn),
        .mode = text_of(arrival->mode),
        .expect = TEXT(""),
        .gen = arrival->visitor.ticket.gen,
        .known = session_known_by(session, &arrival->visitor.ticket),
    };
    arrival->state = ARRIVAL_RESUME;
    return line_resume(&gateway->line, &resume, arrival_step, arrival);
}

static void arrival_refuse_failed(struct arrival *arrival)
{
    arrival_refuse(arrival, &(struct line_place){.outcome = LINE_FAILED}, true);
}

/* Without a ticket that counts: a new place at the back, if the client's address may have one. */
static void arrival_anew(struct arrival *arrival, const struct session *session)
{
    arrival->visitor.has_ticket = false;
    if (!arrival->request || !visitor_may_join(arrival->gateway, arrival->request))
        arrival_end(arrival);
    else if (arrival_join(arrival, session) != OK)
        arrival_refuse_failed(arrival);
}

/* What comes after SYNC. */
static void arrival_enter(struct arrival *arrival, const struct session *session)
{
    const struct visitor *visitor = &arrival->visitor;
    if (visitor->has_ticket && visitor->ticket_from_cookie && session->many)
        arrival_anew(arrival, session);
    else if ((visitor->has_ticket ? arrival_resume(arrival, session) : arrival_join(arrival, session)) != OK)
        arrival_refuse_failed(arrival);
}

void arrival_begin(struct gateway *gateway, struct http_request *request, const struct visitor *visitor,
                   const char *mode, arrival_done *done)
{
    struct session *session = session_find(gateway, text_of(visitor->session));
    struct arrival *arrival = NULL;
    if (drain_active(&gateway->drain)) {
        refuse(gateway, request, REFUSAL_DRAINING, NULL, 0);
        return;
    }
    if (gateway->membership.joined)
        arrival = calloc(1, sizeof *arrival);
    if (!arrival) {
        refuse(gateway, request, REFUSAL_UNAVAILABLE, NULL, 0);
        return;
    }
    *arrival = (struct arrival){
        .gateway = gateway,
        .request = request,
        .visitor = *visitor,
        .conn = ++gateway->conn_count,
        .mode = mode,
        .done = done,
    };
    gateway->joins_under_way++;
    http_request_on_gone(request, arrival_gone, arrival);
    if (session && session->known)
        arrival_enter(arrival, session);
    else if (line_sync(&gateway->line, text_of(arrival->visitor.session), arrival_step, arrival) != OK)
        arrival_refuse_failed(arrival);
}

/* The place is unknown, and its ticket is older than this epoch: Redis may have lost it. True: a question is under way.
 */
static bool arrival_restore(struct arrival *arrival, const struct line_place *answer)
{
    struct gateway *gateway = arrival->gateway;
    const struct ticket *ticket = &arrival->visitor.ticket;
    char conn[CONN_SIZE];
    bool lost = answer->outcome == LINE_UNAVAILABLE || (answer->outcome == LINE_GONE && answer->epoch > ticket->epoch);
    if (!lost || arrival->restored || !arrival->request)
        return false;
    struct lost_place place = {
        .place = text_of(arrival->place),
        .conn = place_conn(gateway, arrival->conn, conn),
        .user = text_of(arrival->visitor.user),
        .number = ticket->number,
        .order = ticket->order,
        .epoch = ticket->epoch,
        .gen = ticket->gen,
    };
    arrival->restored = true;
    arrival->state = ARRIVAL_RESTORE;
    return line_restore(&gateway->line, text_of(arrival->visitor.session), false, TEXT(""), false, 1, &place,
                        arrival_step, arrival) == OK;
}

static void arrival_restored(struct arrival *arrival, enum err err, const struct redis_reply *reply)
{
    struct session *session = session_find(arrival->gateway, text_of(arrival->visitor.session));
    enum line_outcome outcome = line_outcome_of(err, reply);
    if (outcome != LINE_OK)
        arrival_refuse(arrival, &(struct line_place){.outcome = outcome}, true);
    else if (line_outcome_word(reply_text(reply_at(reply, 2))) == LINE_GONE)
        arrival_anew(arrival, session);
    else if (arrival_resume(arrival, session) != OK)
        arrival_refuse_failed(arrival);
}

static void arrival_synced(struct arrival *arrival, enum err err, const struct redis_reply *reply)
{
    struct gateway *gateway = arrival->gateway;
    struct text id = text_of(arrival->visitor.session);
    struct line_picture picture;
    line_picture_decode(err, reply, &picture);
    const struct session *before = session_find(gateway, id);
    bool served = before && before->known;
    struct session *session = picture.outcome == LINE_OK ? session_get(gateway, id) : NULL;
    if (served && picture.outcome == LINE_NONE)
        restoration_open(session_find(gateway, id), "Redis has nothing of a session that is served here");
    if (session)
        session_take_picture(session, &picture);
    if (!session)
        arrival_refuse(arrival, &(struct line_place){.outcome = picture.outcome}, served);
    else if (!arrival->request)
        arrival_end(arrival);
    else
        arrival_enter(arrival, session);
}

/* Another connection had the place: its holder is told, here or through the stream of its gateway. */
static void tell_superseded(struct gateway *gateway, struct session *session, const struct line_place *answer,
                            bool stream)
{
    struct message_command command;
    struct message message = {
        .type = MESSAGE_SUPERSEDED,
        .session = session->name,
        .epoch = answer->epoch,
        .place = answer->place,
        .gen = answer->gen_before,
    };
    struct place *older = stream ? NULL : place_find(gateway, answer->place); /* a stream replaced it already */
    if (older)
        place_end_superseded(older);
    if (!answer->server_before.len || text_equal(answer->server_before, membership_name(&gateway->membership)) ||
        !server_id_valid(server_name_id(answer->server_before)))
        return;
    message_encode(&command, gateway->line.prefix, answer->server_before, &message);
    if (line_command(&gateway->line, command.count, command.args, NULL, NULL) != OK)
        log_event(LOG_DEBUG, "superseded-untold", LOG_T("session", session->name)); /* its audit will find out */
}

static void arrival_answered(struct arrival *arrival, const struct line_place *answer)
{
    struct gateway *gateway = arrival->gateway;
    struct session *session = session_find(gateway, text_of(arrival->visitor.session));
    bool placed = answer->outcome == LINE_WAITING || answer->outcome == LINE_ADMITTED || answer->outcome == LINE_LOBBY;
    if (session && session->known && answer->outcome == LINE_DELETED)
        session_deleted(session);
    if (session && (answer->outcome == LINE_LOST || answer->outcome == LINE_NONE))
        restoration_open(session, "Redis knows less than was answered before");
    if (session && placed && answer->epoch == session->epoch_seen && answer->tail > session->restoration.tail_seen)
        session->restoration.tail_seen = answer->tail;
    if (!session && placed)
        arrival_park(arrival, answer->place, arrival->state == ARRIVAL_JOIN);
    if (!session || (!placed && answer->outcome != LINE_ENTERED)) {
        arrival_refuse(arrival, answer, session && session->known);
        return;
    }
    metrics_add(gateway->metrics, METER_JOINS, 1,
                arrival->state == ARRIVAL_RESUME ? "resumed" : line_outcome_text(answer->outcome), NULL, NULL);
    bool taken = arrival->request && arrival->done(arrival, session, answer);
    if (taken && placed)
        tell_superseded(gateway, session, answer, strcmp(arrival->mode, "stream") == 0);
    if (!taken && placed)
        arrival_park(arrival, answer->place, arrival->state == ARRIVAL_JOIN);
    if (session->positions.epoch != answer->epoch)
        session_sync(session);
    arrival_end(arrival);
}

static void arrival_step(void *data, enum err err, const struct redis_reply *reply)
{
    struct arrival *arrival = data;
    struct line_place answer;
    if (arrival->state == ARRIVAL_SYNC) {
        arrival_synced(arrival, err, reply);
        return;
    }
    if (arrival->state == ARRIVAL_RESTORE) {
        arrival_restored(arrival, err, reply);
        return;
    }
    if (err == ERR_REPLY)
        log_event(LOG_WARN, "arrival-refused", LOG_S("session", arrival->visitor.session),
                  LOG_T("reason", reply_text(reply)));
    /* It may have been carried out. ERR_PROTOCOL: the answer came, and there was no memory to read it. */
    if (err == ERR_TIMEOUT || err == ERR_LOST || err == ERR_CANCELED || err == ERR_PROTOCOL)
        arrival_park(arrival, text_of(arrival->place), arrival->state == ARRIVAL_JOIN);
    line_place_decode(err, reply, &answer);
    if (arrival->state == ARRIVAL_RESUME && arrival_restore(arrival, &answer))
        return;
    if (arrival->state == ARRIVAL_RESUME && answer.outcome == LINE_GONE)
        arrival_anew(arrival, session_find(arrival->gateway, text_of(arrival->visitor.session)));
    else
        arrival_answered(arrival, &answer);
}

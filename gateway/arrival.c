#include "gateway/arrival.h"

#include "common/base/entropy.h"
#include "common/base/log.h"
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
        .known = session_known(session),
    };
    arrival->state = ARRIVAL_RESUME;
    return line_resume(&gateway->line, &resume, arrival_step, arrival);
}

/* What comes after SYNC. */
static enum err arrival_enter(struct arrival *arrival, const struct session *session)
{
    struct visitor *visitor = &arrival->visitor;
    bool ticket = visitor->has_ticket && !(visitor->ticket_from_cookie && session->many);
    return ticket ? arrival_resume(arrival, session) : arrival_join(arrival, session);
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
    enum err err = session && session->known
                       ? arrival_enter(arrival, session)
                       : line_sync(&gateway->line, text_of(visitor->session), arrival_step, arrival);
    if (err != OK) { /* nothing was sent */
        arrival_refuse(arrival, &(struct line_place){.outcome = LINE_FAILED}, true);
        return;
    }
    http_request_on_gone(request, arrival_gone, arrival);
}

static void arrival_synced(struct arrival *arrival, enum err err, const struct redis_reply *reply)
{
    struct gateway *gateway = arrival->gateway;
    struct line_picture picture;
    line_picture_decode(err, reply, &picture);
    struct session *session =
        picture.outcome == LINE_OK ? session_get(gateway, text_of(arrival->visitor.session)) : NULL;
    bool served = session_find(gateway, text_of(arrival->visitor.session)) != NULL;
    if (session)
        session_take_picture(session, &picture);
    if (!session || !arrival->request || arrival_enter(arrival, session) != OK)
        arrival_refuse(arrival, &(struct line_place){.outcome = session ? LINE_FAILED : picture.outcome}, served);
}

static void arrival_answered(struct arrival *arrival, const struct line_place *answer)
{
    struct gateway *gateway = arrival->gateway;
    struct session *session = session_find(gateway, text_of(arrival->visitor.session));
    bool placed = answer->outcome == LINE_WAITING || answer->outcome == LINE_ADMITTED;
    if (!session || (!placed && answer->outcome != LINE_ENTERED)) {
        arrival_refuse(arrival, answer, session != NULL);
        return;
    }
    metrics_add(gateway->metrics, METER_JOINS, 1,
                arrival->state == ARRIVAL_RESUME ? "resumed" : line_outcome_text(answer->outcome), NULL, NULL);
    bool taken = arrival->request && arrival->done(arrival, session, answer);
    if (!taken && placed)
        arrival_park(arrival, answer->place, arrival->state == ARRIVAL_JOIN);
    if (session->positions.epoch != answer->epoch)
        session_sync(session);
    arrival_end(arrival);
}

/* The old place is no more: a new one at the back, counted like any join. */
static void arrival_again(struct arrival *arrival)
{
    struct session *session = session_find(arrival->gateway, text_of(arrival->visitor.session));
    arrival->visitor.has_ticket = false;
    if (!arrival->request) {
        arrival_end(arrival);
        return;
    }
    http_request_on_gone(arrival->request, NULL, NULL);
    if (!visitor_may_join(arrival->gateway, arrival->request)) {
        arrival_end(arrival);
        return;
    }
    http_request_on_gone(arrival->request, arrival_gone, arrival);
    if (arrival_join(arrival, session) != OK)
        arrival_refuse(arrival, &(struct line_place){.outcome = LINE_FAILED}, true);
}

static void arrival_step(void *data, enum err err, const struct redis_reply *reply)
{
    struct arrival *arrival = data;
    struct line_place answer;
    if (arrival->state == ARRIVAL_SYNC) {
        arrival_synced(arrival, err, reply);
        return;
    }
    if (err == ERR_REPLY)
        log_event(LOG_WARN, "arrival-refused", LOG_S("session", arrival->visitor.session),
                  LOG_T("reason", reply_text(reply)));
    if (err == ERR_TIMEOUT || err == ERR_LOST || err == ERR_CANCELED) /* it may have been carried out */
        arrival_park(arrival, text_of(arrival->place), arrival->state == ARRIVAL_JOIN);
    line_place_decode(err, reply, &answer);
    if (arrival->state == ARRIVAL_RESUME && answer.outcome == LINE_GONE)
        arrival_again(arrival);
    else
        arrival_answered(arrival, &answer);
}

#include "gateway/polling.h"

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/http/response.h"
#include "gateway/arrival.h"
#include "gateway/gateway.h"
#include "gateway/place.h"
#include "gateway/refusal.h"
#include "gateway/session.h"
#include "gateway/sse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define POLL_NEAR_S 1
#define POLL_FAR_S 10
#define POLL_PLACES_A_SECOND 100 /* 1 s more for each so many places ahead */

static uint32_t poll_after_s(uint64_t position)
{
    uint64_t seconds = POLL_NEAR_S + position / POLL_PLACES_A_SECOND;
    return seconds < POLL_FAR_S ? (uint32_t)seconds : POLL_FAR_S;
}

/* In the lobby the next poll may well be far off, but keeps the place alive, and is not all at the same moment. */
static uint32_t poll_lobby_s(const struct line_place *answer)
{
    uint64_t seconds = POLL_NEAR_S + answer->waiting / POLL_PLACES_A_SECOND;
    return seconds < POLL_FAR_S ? (uint32_t)seconds : POLL_FAR_S;
}

static uint32_t poll_answer_s(const struct line_place *answer)
{
    return answer->outcome == LINE_LOBBY ? poll_lobby_s(answer) : poll_after_s(answer->position);
}

static enum err write_lobby(struct buf *out, const struct session *session, const struct line_place *answer)
{
    char instant[CLOCK_RFC3339_SIZE];
    enum err err = buf_format(out, ",\"status\":\"LOBBY\",\"waiting\":%" PRIu64 ",\"pollAfterSeconds\":%u",
                              answer->waiting, poll_lobby_s(answer));
    clock_rfc3339(instant, answer->starts_at_ms);
    if (err == OK && answer->starts_at_ms)
        err = buf_format(out, ",\"startsAt\":\"%s\"", instant);
    if (err == OK && session && session->known)
        err = buf_format(out, ",\"order\":\"%s\"", session->lobby.order);
    if (err == OK && session && session->known && strcmp(session->lobby.order, "lottery") == 0)
        err = buf_format(out, ",\"seedHash\":\"%s\"", session->lobby.seed_hash);
    return err;
}

/* The answer to join and status. TICKET and SESSION need no escapes by their alphabets, the entry URL by its check. */
static enum err write_answer(struct buf *out, const char *session_id, const struct session *session,
                             const struct line_place *answer, const char *ticket)
{
    char instant[CLOCK_RFC3339_SIZE];
    int64_t issued_s, expires_s;
    enum err err = buf_format(out, "{\"sessionId\":\"%s\"", session_id);
    if (err == OK && ticket[0])
        err = buf_format(out, ",\"ticket\":\"%s\"", ticket);
    if (err != OK)
        return err;
    if (answer->outcome == LINE_ENTERED) {
        err = token_entry_times(answer->token, &issued_s, &expires_s);
        if (err != OK)
            return err;
        clock_rfc3339(instant, expires_s * 1000);
        err = buf_format(out, ",\"status\":\"ENTERED\",\"position\":0,\"token\":\"%.*s\",\"expiresAt\":\"%s\"",
                         (int)answer->token.len, answer->token.at, instant);
        if (err == OK && session && session->entry_url[0])
            err = buf_format(out, ",\"entryUrl\":\"%s\",\"entryMethod\":\"%s\"", session->entry_url,
                             session->entry_method);
    } else if (answer->outcome == LINE_WAITING || answer->outcome == LINE_ADMITTED) {
        /* Admitted, and the token is a moment away: the caller is next. */
        uint64_t position = answer->outcome == LINE_ADMITTED ? 1 : answer->position;
        uint64_t waiting = answer->waiting > position ? answer->waiting : position;
        bool paused = text_is(answer->status, "paused");
        struct eta eta;
        err = buf_format(out,
                         ",\"status\":\"WAITING\",\"position\":%" PRIu64 ",\"ahead\":%" PRIu64 ",\"behind\":%" PRIu64
                         ",\"waiting\":%" PRIu64 ",\"paused\":%s,\"pollAfterSeconds\":%u",
                         position, position - 1, waiting - position, waiting, paused ? "true" : "false",
                         poll_after_s(position));
        if (err == OK && session && !paused && eta_of(&session->pace, position, &eta))
            err = buf_format(out, ",\"etaSeconds\":%" PRId64 ",\"etaRange\":[%" PRId64 ",%" PRId64 "]", eta.seconds,
                             eta.low, eta.high);
        else if (err == OK)
            err = buf_text(out, TEXT(",\"etaSeconds\":null,\"etaRange\":null"));
    } else if (answer->outcome == LINE_LOBBY) {
        err = write_lobby(out, session, answer);
    } else {
        err = buf_text(out, TEXT(",\"status\":\"NOT_WAITING\",\"position\":-1"));
    }
    return err == OK ? buf_text(out, TEXT("}\n")) : err;
}

/* False: it was refused, as there is no memory for the answer. */
static bool answer_json(struct gateway *gateway, struct http_request *request, const char *session_id,
                        const struct session *session, const struct line_place *answer, const char *ticket)
{
    char headers[TOKEN_MAX + 512] = "";
    size_t len = 0;
    struct buf body;
    buf_init(&body, 8192);
    if (answer->outcome == LINE_WAITING || answer->outcome == LINE_ADMITTED || answer->outcome == LINE_LOBBY)
        len = (size_t)snprintf(headers, sizeof headers, "Retry-After: %u\r\n", poll_answer_s(answer));
    if (ticket[0])
        visitor_cookie(gateway, session_id, ticket, headers + len, sizeof headers - len);
    bool written = write_answer(&body, session_id, session, answer, ticket) == OK;
    if (written)
        http_respond(request,
                     &(struct http_response){
                         .status = 200, .type = "application/json", .headers = headers, .body = buf_view(&body)});
    else
        refuse(gateway, request, REFUSAL_UNAVAILABLE, NULL, 0);
    buf_finish(&body);
    return written;
}

/* ---- join ---- */

static bool answer_join(struct arrival *arrival, struct session *session, const struct line_place *answer)
{
    struct ticket ticket = {.epoch = answer->epoch,
                            .number = answer->ticket,
                            .order = answer->order,
                            .gen = answer->gen,
                            .first = arrival_first(arrival, answer)};
    char token[TOKEN_MAX] = "";
    if (answer->outcome != LINE_ENTERED) {
        memcpy(ticket.session, session->id, sizeof ticket.session);
        memcpy(ticket.user, arrival->visitor.user, sizeof ticket.user);
        memcpy(ticket.place, answer->place.at, PLACE_ID_LEN);
        if (token_sign_ticket(arrival->gateway->keys.ticket, &ticket, token, sizeof token) != OK) {
            refuse(arrival->gateway, arrival->request, REFUSAL_UNAVAILABLE, NULL, 0);
            return false;
        }
    }
    return answer_json(arrival->gateway, arrival->request, session->id, session, answer, token);
}

void join_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    struct visitor visitor;
    char kind[16] = "ACTUAL";
    enum err err = http_request_param(request, "userType", kind, sizeof kind);
    bool virtual_user = strcmp(kind, "VIRTUAL") == 0;
    if ((err != OK && err != ERR_MISSING) || (!virtual_user && strcmp(kind, "ACTUAL") != 0)) {
        refuse(gateway, request, REFUSAL_BAD_REQUEST, "userType must be ACTUAL or VIRTUAL.", 0);
        return;
    }
    if (visitor_read(gateway, request, VISITOR_SESSION | VISITOR_JOINS, &visitor))
        arrival_begin(gateway, request, &visitor, virtual_user ? "virtual" : "poll", answer_join);
}

/* ---- status ---- */

/*  ASK ──(gone, and the ticket is of an older epoch)──► RESTORE ──► ASK ──► answered      Redis may have lost the place
 *   └──(any other answer)──► answered                                                                               */
struct status {
    struct gateway *gateway;
    struct http_request *request; /* NULL: the client went away */
    struct ticket ticket;
    bool restored;
};

static void status_answered(void *data, enum err err, const struct redis_reply *reply);

static enum err status_ask(struct status *status)
{
    struct gateway *gateway = status->gateway;
    struct text session = text_of(status->ticket.session);
    struct line_known known = session_known_by(session_find(gateway, session), &status->ticket);
    return line_status(&gateway->line, session, text_of(status->ticket.place), true, &known, status_answered, status);
}

static void status_restored(void *data, enum err err, const struct redis_reply *reply)
{
    struct status *status = data;
    (void)reply; /* the next answer says what became of it */
    if (err == OK && status->request && status_ask(status) == OK)
        return;
    if (status->request)
        refuse(status->gateway, status->request, REFUSAL_UNAVAILABLE, NULL, 0);
    free(status);
}

static enum err status_restore(struct status *status)
{
    const struct ticket *ticket = &status->ticket;
    struct lost_place place = {
        .place = text_of(ticket->place),
        .conn = TEXT(""),
        .user = text_of(ticket->user),
        .number = ticket->number,
        .order = ticket->order,
        .epoch = ticket->epoch,
        .gen = ticket->gen,
    };
    status->restored = true;
    return line_restore(&status->gateway->line, text_of(ticket->session), false, TEXT(""), false, 1, &place,
                        status_restored, status);
}

static void status_gone(void *data)
{
    struct status *status = data;
    status->request = NULL;
}

static void status_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct status *status = data;
    struct session *session = session_find(status->gateway, text_of(status->ticket.session));
    struct line_place answer;
    line_place_decode(err, reply, &answer);
    bool lost =
        answer.outcome == LINE_UNAVAILABLE || (answer.outcome == LINE_GONE && answer.epoch > status->ticket.epoch);
    if (lost && !status->restored && status->request && status_restore(status) == OK)
        return;
    if (session && (answer.outcome == LINE_LOST || answer.outcome == LINE_NONE))
        restoration_open(session, "Redis knows less than a ticket proves");
    bool told = answer.outcome == LINE_WAITING || answer.outcome == LINE_ADMITTED || answer.outcome == LINE_ENTERED ||
                answer.outcome == LINE_LOBBY || answer.outcome == LINE_GONE || answer.outcome == LINE_DELETED;
    if (status->request && told)
        answer_json(status->gateway, status->request, status->ticket.session, session, &answer, "");
    else if (status->request)
        refuse_outcome(status->gateway, status->request, &answer, session != NULL);
    free(status);
}

void status_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    struct visitor visitor;
    if (!visitor_read(gateway, request, VISITOR_TICKET, &visitor))
        return;
    struct status *status = calloc(1, sizeof *status);
    if (status)
        *status = (struct status){.gateway = gateway, .request = request, .ticket = visitor.ticket};
    if (!status || status_ask(status) != OK) {
        free(status);
        refuse(gateway, request, REFUSAL_UNAVAILABLE, NULL, 0);
        return;
    }
    http_request_on_gone(request, status_gone, status);
}

/* ---- leave ---- */

void leave_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    struct visitor visitor;
    if (!visitor_read(gateway, request, VISITOR_TICKET, &visitor))
        return;
    struct place *place = place_find(gateway, text_of(visitor.ticket.place));
    if (gateway->parks.count > PARKS_MAX / 2) { /* Redis is away for long: the room left is for parks */
        refuse(gateway, request, REFUSAL_UNAVAILABLE, NULL, 0);
        return;
    }
    /* Repeated until Redis has it, and an older generation changes nothing: 204 may be said at once. */
    if (!parks_add_leave(&gateway->parks, text_of(visitor.session), text_of(visitor.ticket.place),
                         visitor.ticket.gen)) {
        refuse(gateway, request, REFUSAL_UNAVAILABLE, NULL, 0);
        return;
    }
    if (place && place->gen == visitor.ticket.gen)
        place_end_closed(place, TEXT("left"));
    http_respond(request, &(struct http_response){.status = 204});
}

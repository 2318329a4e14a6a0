#include "gateway/subscribe.h"

#include "common/base/check.h"
#include "common/base/entropy.h"
#include "common/http/response.h"
#include "gateway/arrival.h"
#include "gateway/gateway.h"
#include "gateway/place.h"
#include "gateway/refusal.h"
#include "gateway/session.h"
#include "gateway/sse.h"

#include <stdio.h>
#include <stdlib.h>

#define RETRY_MIN_MS 2000
#define RETRY_SPREAD_MS 3000
#define HEADERS_SIZE (TOKEN_MAX + 256)

static const char *stream_headers(const struct gateway *gateway, const char *session, const char *ticket, char *dst)
{
    size_t len = (size_t)snprintf(dst, HEADERS_SIZE, "X-Accel-Buffering: no\r\n");
    visitor_cookie(gateway, session, ticket, dst + len, HEADERS_SIZE - len);
    return dst;
}

/* The token is there already: one event and the end, no place is kept here. */
static bool answer_entered(struct arrival *arrival, struct session *session, const struct line_place *answer)
{
    static struct sse sse;
    char ticket[TOKEN_MAX] = "";
    struct sse_entry entry = {
        session->name, answer->token, text_of(session->entry_url), text_of(session->entry_method), 0, 0};
    int64_t issued_s;
    if (token_entry_times(answer->token, &issued_s, &entry.expires_s) != OK) {
        refuse(arrival->gateway, arrival->request, REFUSAL_UNAVAILABLE, NULL, 0);
        return true;
    }
    entry.admitted_ms = issued_s * 1000;
    if (arrival->visitor.has_ticket &&
        token_sign_ticket(arrival->gateway->keys.ticket, &arrival->visitor.ticket, ticket, sizeof ticket) != OK)
        ticket[0] = '\0';
    sse_start(&sse);
    sse_id(&sse, text_of(ticket), true);
    sse_entry(&sse, &entry);
    metrics_add(arrival->gateway->metrics, METER_FRAMES, 1, "entry", NULL, NULL);
    http_respond(arrival->request, &(struct http_response){
                                       .status = 200,
                                       .type = "text/event-stream",
                                       .headers = "X-Accel-Buffering: no\r\n",
                                       .body = {sse_payload(&sse), sse.len},
                                   });
    return true;
}

static void first_frame(struct sse *sse, struct place *place, const struct line_place *answer, const char *ticket,
                        bool newcomer)
{
    struct session *session = place->session;
    sse_start(sse);
    sse_retry(sse, RETRY_MIN_MS + entropy_below(RETRY_SPREAD_MS));
    sse_id(sse, text_of(ticket), false);
    if (answer->outcome == LINE_ADMITTED) {
        sse_comment(sse);
        return;
    }
    if (answer->epoch == session->positions.epoch) { /* else what is known is of a session that was deleted */
        session_notice(session, newcomer, sse);
        place->noticed = session->notice_seq;
    }
    if (answer->outcome == LINE_LOBBY) {
        place->shown = session->lobby.version;
        lobby_frame(sse, session, answer->waiting);
        return;
    }
    bool paused = answer->status.len ? text_is(answer->status, "paused") : session->paused;
    struct sse_state state = {session->name, paused, answer->position, answer->waiting, place->first, &session->pace};
    place->shown = (uint32_t)answer->position;
    place->paused_shown = paused;
    sse_waiting_state(sse, &state);
}

static bool answer_stream(struct arrival *arrival, struct session *session, const struct line_place *answer)
{
    static struct sse sse;
    struct gateway *gateway = arrival->gateway;
    char ticket[TOKEN_MAX], headers[HEADERS_SIZE];
    if (answer->outcome == LINE_ENTERED)
        return answer_entered(arrival, session, answer);
    struct place *place = place_add(gateway, session, answer, arrival->conn, arrival->visitor.user);
    if (place)
        place->first = arrival_first(arrival, answer);
    bool framed = place && place_ticket(place, ticket, sizeof ticket) == OK;
    if (framed) {
        first_frame(&sse, place, answer, ticket, !arrival->visitor.has_ticket);
        framed = !sse.broken;
    }
    if (!framed) {
        if (place)
            place_forget(place);
        refuse(gateway, arrival->request, REFUSAL_UNAVAILABLE, NULL, 0);
        return false;
    }
    place->stream =
        http_stream_open(arrival->request, "text/event-stream", stream_headers(gateway, session->id, ticket, headers),
                         sse_payload(&sse), sse.len, &place_stream_owner, place);
    if (!place->stream) {
        place_forget(place);
        return false;
    }
    metrics_add(gateway->metrics, METER_FRAMES, 1, answer->outcome == LINE_LOBBY ? "lobby" : "waiting-state", NULL,
                NULL);
    struct unclaimed_entry *entry = unclaimed_take(&gateway->unclaimed, answer->place);
    if (entry)
        place_end_entry(place, (struct text){entry->token, entry->token_len}, entry->admitted_ms,
                        "message before join");
    free(entry);
    return true;
}

/* A browser whose last event was terminal asks again: 204 makes it stop. */
static bool already_ended(const struct http_request *request)
{
    struct text id = http_request_header(request, "Last-Event-ID");
    return id.len >= 2 && memcmp(id.at + id.len - 2, ".e", 2) == 0;
}

void subscribe_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    struct visitor visitor;
    if (!visitor_welcome(gateway, request))
        return;
    if (already_ended(request)) {
        http_respond(request, &(struct http_response){.status = 204});
        return;
    }
    if (visitor_read(gateway, request, VISITOR_SESSION | VISITOR_JOINS, &visitor))
        arrival_begin(gateway, request, &visitor, "stream", answer_stream);
}

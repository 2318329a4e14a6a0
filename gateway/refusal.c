#include "gateway/refusal.h"

#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/http/response.h"
#include "gateway/gateway.h"
#include "gateway/sse.h"

#include <stdio.h>

#define RETRY_MIN_S 5
#define RETRY_MAX_S 30

/* BY_STATUS: an EventSource is told by status too, as its page made a mistake that coming back will not mend. */
static const struct {
    int status;
    const char *code, *title, *detail;
    enum { BY_STATUS, RETRY, FINAL } to_events;
    uint32_t retry_s;
} refusals[REFUSAL_COUNT] = {
    [REFUSAL_BAD_REQUEST] = {400, "bad-request", "Malformed request", "The request cannot be understood.", BY_STATUS,
                             0},
    [REFUSAL_BAD_SESSION] = {400, "bad-session", "No such kind of session id",
                             "sessionId must be 1 to 64 of A-Z a-z 0-9 _ -.", BY_STATUS, 0},
    [REFUSAL_BAD_TICKET] = {400, "bad-ticket", "This ticket is not valid here",
                            "The ticket is forged, damaged, or of another session or user.", FINAL, 0},
    [REFUSAL_UNAUTHORIZED] = {401, "unauthorized", "Sign in first", "A valid user token is needed.", FINAL, 0},
    [REFUSAL_NO_ENTRY] = {401, "unauthorized", "Not let in", "A valid entry token is needed.", BY_STATUS, 0},
    [REFUSAL_USED] = {401, "used", "Used already", "This entry token was redeemed or released before.", BY_STATUS, 0},
    [REFUSAL_VERIFY_LIMITED] = {403, "rate-limited", "Too many checks", "Too many checks from this address.", BY_STATUS,
                                1},
    [REFUSAL_ORIGIN] = {403, "origin-refused", "This origin may not join", "Requests from this origin are not allowed.",
                        BY_STATUS, 0},
    [REFUSAL_UNKNOWN_SESSION] = {404, "unknown-session", "No such session",
                                 "Sessions are made by the operator; this one does not exist.", FINAL, 0},
    [REFUSAL_NOT_STARTED] = {409, "not-started", "Not started yet", "The line opens later.", RETRY, 0},
    [REFUSAL_ALREADY_WAITING] = {409, "already-waiting", "Already waiting",
                                 "This user already waits in another browser or on another device.", FINAL, 0},
    [REFUSAL_ALREADY_ENTERED] = {409, "already-entered", "Already entered", "This user has already been let in once.",
                                 FINAL, 0},
    [REFUSAL_SOLD_OUT] = {410, "sold-out", "Sold out", "Nobody else will be let in.", FINAL, 0},
    [REFUSAL_CLOSED] = {410, "closed", "Closed", "The line is closed.", FINAL, 0},
    [REFUSAL_RATE_LIMITED] = {429, "rate-limited", "Too many joins", "Too many joins from this address; wait a little.",
                              RETRY, 1},
    [REFUSAL_LINE_FULL] = {503, "line-full", "The line is full", "The line takes no more people now.", RETRY, 10},
    [REFUSAL_UNAVAILABLE] = {503, "unavailable", "Not available just now",
                             "The line cannot be reached just now; nobody loses a place by this.", RETRY, 5},
    [REFUSAL_DRAINING] = {503, "draining", "This server is going away", "Another server will answer; try again.", RETRY,
                          1},
};

bool wants_events(const struct http_request *request)
{
    struct text accept = http_request_header(request, "Accept");
    return accept.len > 0 && memmem(accept.at, accept.len, "text/event-stream", 17) != NULL;
}

const char *refusal_page(struct text code, const char **title)
{
    for (size_t i = 0; i < REFUSAL_COUNT; i++) {
        if (text_is(code, refusals[i].code)) {
            *title = refusals[i].title;
            return refusals[i].detail;
        }
    }
    return NULL;
}

static void refuse_events(struct http_request *request, const struct http_problem *problem, bool final)
{
    static struct sse sse;
    char json[2048];
    uint32_t least = problem->retry_after_seconds > RETRY_MIN_S ? problem->retry_after_seconds : RETRY_MIN_S;
    uint32_t most = least < RETRY_MAX_S ? RETRY_MAX_S : least + 5;
    size_t len = http_problem_json(problem, http_request_id(request), json, sizeof json);
    if (!len) /* for want of memory */
        len = (size_t)snprintf(json, sizeof json, "{\"type\":\"/problems/%s\",\"code\":\"%s\",\"status\":%d}",
                               problem->code, problem->code, problem->status);
    sse_start(&sse);
    if (final)
        sse_id(&sse, TEXT(""), true);
    else
        sse_retry(&sse, least * 1000 + entropy_below((most - least) * 1000));
    sse_problem(&sse, final ? "refused" : "unavailable", (struct text){json, len});
    struct http_response response = {
        .status = 200,
        .type = "text/event-stream",
        .headers = "X-Accel-Buffering: no\r\n",
        .body = {sse_payload(&sse), sse.len},
    };
    http_respond(request, &response);
}

static struct http_problem problem_of(enum refusal refusal, const char *detail, uint32_t retry_s)
{
    return (struct http_problem){
        .status = refusals[refusal].status,
        .code = refusals[refusal].code,
        .title = refusals[refusal].title,
        .detail = detail ? detail : refusals[refusal].detail,
        .retry_after_seconds = retry_s ? retry_s : refusals[refusal].retry_s,
        .headers = refusals[refusal].status == 401 ? "WWW-Authenticate: Bearer\r\n" : NULL,
    };
}

static void refuse_with(struct gateway *gateway, struct http_request *request, enum refusal refusal, const char *detail,
                        uint32_t retry_s, const char *extra)
{
    struct http_problem problem = problem_of(refusal, detail, retry_s);
    problem.extra = extra;
    metrics_add(gateway->metrics, METER_REFUSALS, 1, problem.code, NULL, NULL);
    if (wants_events(request) && refusals[refusal].to_events != BY_STATUS)
        refuse_events(request, &problem, refusals[refusal].to_events == FINAL);
    else
        http_respond_problem(request, &problem);
}

void refuse(struct gateway *gateway, struct http_request *request, enum refusal refusal, const char *detail,
            uint32_t retry_s)
{
    refuse_with(gateway, request, refusal, detail, retry_s, NULL);
}

void refuse_by_status(struct gateway *gateway, struct http_request *request, enum refusal refusal, const char *detail,
                      uint32_t retry_s)
{
    struct http_problem problem = problem_of(refusal, detail, retry_s);
    metrics_add(gateway->metrics, METER_REFUSALS, 1, problem.code, NULL, NULL);
    http_respond_problem(request, &problem);
}

static void refuse_not_started(struct gateway *gateway, struct http_request *request, int64_t starts_at_ms)
{
    char instant[CLOCK_RFC3339_SIZE], extra[64];
    int64_t left_ms = starts_at_ms - membership_redis_now_ms(&gateway->membership);
    clock_rfc3339(instant, starts_at_ms);
    snprintf(extra, sizeof extra, ",\"startsAt\":\"%s\"", instant);
    int64_t left_s = left_ms > 0 ? left_ms / 1000 + 1 : 1;
    refuse_with(gateway, request, REFUSAL_NOT_STARTED, NULL, left_s < 86400 ? (uint32_t)left_s : 86400, extra);
}

void refuse_outcome(struct gateway *gateway, struct http_request *request, const struct line_place *answer, bool served)
{
    static const struct {
        enum line_outcome outcome;
        enum refusal refusal;
    } table[] = {
        {LINE_DELETED, REFUSAL_UNKNOWN_SESSION},
        {LINE_CLOSED, REFUSAL_CLOSED},
        {LINE_SOLD_OUT, REFUSAL_SOLD_OUT},
        {LINE_FULL, REFUSAL_LINE_FULL},
        {LINE_ALREADY_WAITING, REFUSAL_ALREADY_WAITING},
        {LINE_ALREADY_ENTERED, REFUSAL_ALREADY_ENTERED},
        {LINE_NOT_VIRTUAL, REFUSAL_BAD_REQUEST},
    };
    metrics_add(gateway->metrics, METER_JOINS, 1, line_outcome_text(answer->outcome), NULL, NULL);
    if (answer->outcome == LINE_NOT_STARTED) {
        refuse_not_started(gateway, request, answer->starts_at_ms);
        return;
    }
    enum refusal refusal = answer->outcome == LINE_NONE && !served ? REFUSAL_UNKNOWN_SESSION : REFUSAL_UNAVAILABLE;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].outcome == answer->outcome)
            refusal = table[i].refusal;
    refuse(gateway, request, refusal, NULL, 0);
}

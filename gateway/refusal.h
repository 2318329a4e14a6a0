/** Saying no: one table of refusals. A client that asked for an event stream is told in a way its browser can act on
 * (any status but 200 ends an EventSource for good): 200 with `unavailable` and a retry where coming back helps,
 * `refused` where not. */
#ifndef ANTEROOM_GATEWAY_REFUSAL_H
#define ANTEROOM_GATEWAY_REFUSAL_H

#include "common/http/request.h"
#include "common/line/line.h"

#include <stddef.h>
#include <stdint.h>

struct gateway;

enum refusal {
    REFUSAL_BAD_REQUEST,
    REFUSAL_BAD_SESSION,
    REFUSAL_BAD_TICKET,
    REFUSAL_UNAUTHORIZED,
    REFUSAL_NO_ENTRY,
    REFUSAL_USED,
    REFUSAL_VERIFY_LIMITED,
    REFUSAL_ORIGIN,
    REFUSAL_UNKNOWN_SESSION,
    REFUSAL_NOT_STARTED,
    REFUSAL_ALREADY_WAITING,
    REFUSAL_ALREADY_ENTERED,
    REFUSAL_SOLD_OUT,
    REFUSAL_CLOSED,
    REFUSAL_RATE_LIMITED,
    REFUSAL_LINE_FULL,
    REFUSAL_UNAVAILABLE,
    REFUSAL_DRAINING,
    REFUSAL_COUNT,
};

/** Consumes the request. DETAIL is one sentence, NULL for the table's. RETRY_S 0: the table's. */
void refuse(struct gateway *gateway, struct http_request *request, enum refusal refusal, const char *detail,
            uint32_t retry_s);
/** The same by status whatever the client accepts: for the site's calls, where 200 would mean yes. */
void refuse_by_status(struct gateway *gateway, struct http_request *request, enum refusal refusal, const char *detail,
                      uint32_t retry_s);
/** The refusal of what a script answered; SERVED: this gateway has served the session, so missing keys are a loss, not
 * an unknown session. STARTS_AT_MS for LINE_NOT_STARTED. */
void refuse_outcome(struct gateway *gateway, struct http_request *request, const struct line_place *answer,
                    bool served);
/** The page of a problem type: {title, detail}; NULL when CODE is none. */
const char *refusal_page(struct text code, const char **title);
/** Accept names text/event-stream. */
bool wants_events(const struct http_request *request);

#endif

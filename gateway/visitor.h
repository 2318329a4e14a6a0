/** Who asks, for which session, with which ticket: read from a request once, checked in the order the contract gives.
 */
#ifndef ANTEROOM_GATEWAY_VISITOR_H
#define ANTEROOM_GATEWAY_VISITOR_H

#include "common/http/request.h"
#include "common/line/token.h"
#include "gateway/network.h"

struct gateway;
struct limiter;

/** Of a row of routes: pages of any origin may read the answer. */
enum route_flag { ROUTE_ANY_ORIGIN = 1 };

struct visitor {
    char session[SESSION_ID_MAX + 1];
    char user[USER_ID_MAX + 1]; /* "" where the place is the user */
    bool has_ticket;
    bool ticket_from_cookie; /* not believed where perUser is many */
    struct ticket ticket;
};

/** Bits of what an endpoint needs. */
enum visitor_needs {
    VISITOR_SESSION = 1, /* sessionId= is required */
    VISITOR_TICKET = 2,  /* a ticket is required, and gives the session */
    VISITOR_JOINS = 4,   /* without a ticket it is a join: counted against JOIN_LIMIT */
};

/** False: the request was refused and is gone. */
bool visitor_read(struct gateway *gateway, struct http_request *request, unsigned needs, struct visitor *visitor);
/** Judges the origin. False: the request was refused, or sent to the waiting page, and is gone. */
bool visitor_welcome(struct gateway *gateway, struct http_request *request);
/** Counts a join against JOIN_LIMIT. False: the request was refused and is gone. */
bool visitor_may_join(struct gateway *gateway, struct http_request *request);
/** Counts the client's address against LIMITER, but for the networks in JOIN_LIMIT_EXEMPT. False: *WAIT_MS until it is
 *  allowed again. */
bool visitor_within(struct gateway *gateway, const struct http_request *request, struct limiter *limiter,
                    uint32_t *wait_ms);
/** "Set-Cookie: …\r\n" with the ticket into DST; "" where it does not fit. */
void visitor_cookie(const struct gateway *gateway, const char *session, const char *ticket, char *dst, size_t size);
/** Extra headers of every answer: Vary, and CORS for allowed origins. Signature of http_settings.extra_headers. */
size_t visitor_headers(void *context, const struct http_request *request, char *dst, size_t size);
/** OPTIONS: a CORS preflight. */
void preflight_handle(struct http_request *request, void *context);

#endif

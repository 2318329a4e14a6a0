#include "gateway/visitor.h"

#include "common/base/clock.h"
#include "common/http/response.h"
#include "gateway/gateway.h"
#include "gateway/origin.h"
#include "gateway/refusal.h"

#include <stdio.h>

/* ---- origin ---- */

static enum origin_verdict judge(const struct gateway *gateway, const struct http_request *request)
{
    struct origin_facts facts = {
        .method = http_request_method(request),
        .origin = http_request_header(request, "Origin"),
        .site = http_request_header(request, "Sec-Fetch-Site"),
        .mode = http_request_header(request, "Sec-Fetch-Mode"),
        .host = http_request_header(request, "Host"),
        .public_url = text_of(gateway->options.public_url),
        .allowed = text_of(gateway->options.allow_origins),
    };
    return origin_judge(&facts);
}

static void to_waiting_page(struct gateway *gateway, struct http_request *request)
{
    char session[SESSION_ID_MAX + 1], headers[128];
    if (http_request_param(request, "sessionId", session, sizeof session) != OK ||
        !session_id_valid(text_of(session))) {
        refuse(gateway, request, REFUSAL_BAD_SESSION, NULL, 0);
        return;
    }
    snprintf(headers, sizeof headers, "Location: /room/%s\r\n", session);
    http_respond(request, &(struct http_response){.status = 303, .headers = headers});
}

bool visitor_welcome(struct gateway *gateway, struct http_request *request)
{
    enum origin_verdict verdict = judge(gateway, request);
    if (verdict == ORIGIN_REFUSED)
        refuse(gateway, request, REFUSAL_ORIGIN, NULL, 0);
    else if (verdict == ORIGIN_NAVIGATE)
        to_waiting_page(gateway, request);
    return verdict == ORIGIN_SAME || verdict == ORIGIN_ALLOWED;
}

size_t visitor_headers(void *context, const struct http_request *request, char *dst, size_t size)
{
    const struct gateway *gateway = context;
    struct text origin = http_request_header(request, "Origin");
    const struct route *route = http_request_route(request);
    if (route && route->flags & ROUTE_ANY_ORIGIN) {
        int written = snprintf(dst, size, "Vary: Origin\r\nAccess-Control-Allow-Origin: *\r\n");
        return written > 0 && (size_t)written < size ? (size_t)written : 0;
    }
    bool allowed = origin.at && judge(gateway, request) == ORIGIN_ALLOWED;
    int len = allowed
                  ? snprintf(dst, size,
                             "Vary: Origin\r\nAccess-Control-Allow-Origin: %.*s\r\n"
                             "Access-Control-Allow-Credentials: true\r\nAccess-Control-Expose-Headers: Retry-After\r\n",
                             (int)origin.len, origin.at)
                  : snprintf(dst, size, "Vary: Origin\r\n");
    return len > 0 && (size_t)len < size ? (size_t)len : 0;
}

void preflight_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    if (judge(gateway, request) != ORIGIN_ALLOWED) {
        refuse(gateway, request, REFUSAL_ORIGIN, NULL, 0);
        return;
    }
    http_respond(request,
                 &(struct http_response){
                     .status = 204,
                     .headers = "Access-Control-Allow-Methods: GET, POST\r\n"
                                "Access-Control-Allow-Headers: Authorization, Last-Event-ID, X-Anteroom-Ticket\r\n"
                                "Access-Control-Max-Age: 600\r\n",
                 });
}

/* ---- user ---- */

/* The first of: Authorization: Bearer, the cookie, access_token= (where allowed). */
static struct text user_token(const struct gateway *gateway, const struct http_request *request, char *room,
                              size_t size)
{
    struct text bearer = http_request_bearer(request);
    if (bearer.at)
        return bearer;
    if (gateway->options.user_cookie[0]) {
        struct text cookie = http_request_cookie(request, gateway->options.user_cookie);
        if (cookie.at)
            return cookie;
    }
    if (gateway->options.user_query && http_request_param(request, "access_token", room, size) == OK)
        return text_of(room);
    return (struct text){NULL, 0};
}

static enum err check_user(struct gateway *gateway, struct http_request *request, struct visitor *visitor)
{
    char room[TOKEN_MAX];
    visitor->user[0] = '\0';
    if (!gateway->keys.user.count)
        return OK;
    struct text token = user_token(gateway, request, room, sizeof room);
    if (!token.at)
        return ERR_DENIED;
    return token_verify_user(&gateway->keys.user, token, &gateway->user_rules, clock_wall_ms() / 1000, visitor->user);
}

/* ---- ticket ---- */

static void cookie_name(const struct gateway *gateway, const char *session, char *dst, size_t size)
{
    snprintf(dst, size, "%santeroom_ticket_%s", gateway->secure_cookies ? "__Host-" : "", session);
}

/* Where the ticket comes from: Last-Event-ID wins over ticket= (or its header) over the cookie. */
static struct text ticket_token(const struct gateway *gateway, const struct http_request *request,
                                struct visitor *visitor, char *room, size_t size, bool *broken)
{
    char name[SESSION_ID_MAX + 40];
    struct text token = http_request_header(request, "Last-Event-ID");
    *broken = false;
    if (token.len)
        return token;
    enum err err = http_request_param(request, "ticket", room, size);
    *broken = err != OK && err != ERR_MISSING;
    if (err == OK && room[0])
        return text_of(room);
    token = http_request_header(request, "X-Anteroom-Ticket");
    if (token.len || !visitor->session[0])
        return token;
    cookie_name(gateway, visitor->session, name, sizeof name);
    token = http_request_cookie(request, name);
    visitor->ticket_from_cookie = token.len > 0;
    return token;
}

/* ERR_DENIED: a ticket was shown that is none. A bad cookie is merely old: it counts as absent. */
static enum err check_ticket(struct gateway *gateway, struct http_request *request, struct visitor *visitor)
{
    char room[TOKEN_MAX];
    bool broken;
    struct text token = ticket_token(gateway, request, visitor, room, sizeof room, &broken);
    if (!token.len)
        return broken ? ERR_DENIED : OK;
    enum err err = token_verify_ticket(gateway->keys.ticket, token, &visitor->ticket);
    if (err == ERR_NOMEM)
        return err;
    visitor->has_ticket = err == OK &&
                          (!visitor->session[0] || strcmp(visitor->ticket.session, visitor->session) == 0) &&
                          strcmp(visitor->ticket.user, visitor->user) == 0;
    return visitor->has_ticket || visitor->ticket_from_cookie ? OK : ERR_DENIED;
}

/* ---- rate ---- */

bool visitor_within(struct gateway *gateway, const struct http_request *request, struct limiter *limiter,
                    uint32_t *wait_ms)
{
    struct address peer, client;
    char joined[1024];
    size_t len = 0, count = http_request_header_count(request, "X-Forwarded-For");
    for (size_t i = 0; i < count; i++) {
        struct text one = http_request_header_at(request, "X-Forwarded-For", i);
        if (one.len + 1 > sizeof joined - len) { /* far too long: only the rightmost part can count */
            len = 0;
            if (one.len + 1 > sizeof joined)
                one = (struct text){one.at + one.len - sizeof joined / 2, sizeof joined / 2};
        }
        if (len)
            joined[len++] = ',';
        memcpy(joined + len, one.at, one.len);
        len += one.len;
    }
    address_of(http_request_peer(request), &peer);
    client = client_address(&gateway->trusted_proxies, &peer, (struct text){joined, len});
    *wait_ms = 0;
    return networks_contain(&gateway->limit_exempt, &client) ||
           limiter_allow(limiter, &client, clock_mono_ms(), wait_ms);
}

bool visitor_may_join(struct gateway *gateway, struct http_request *request)
{
    uint32_t wait_ms;
    if (visitor_within(gateway, request, &gateway->limiter, &wait_ms))
        return true;
    refuse(gateway, request, REFUSAL_RATE_LIMITED, NULL, wait_ms / 1000 + 1);
    return false;
}

bool visitor_read(struct gateway *gateway, struct http_request *request, unsigned needs, struct visitor *visitor)
{
    *visitor = (struct visitor){.has_ticket = false};
    if (!visitor_welcome(gateway, request))
        return false;
    enum err err = http_request_param(request, "sessionId", visitor->session, sizeof visitor->session);
    if (err == ERR_MISSING && !(needs & VISITOR_SESSION))
        visitor->session[0] = '\0';
    else if (err != OK || !session_id_valid(text_of(visitor->session))) {
        refuse(gateway, request, REFUSAL_BAD_SESSION, NULL, 0);
        return false;
    }
    err = check_user(gateway, request, visitor);
    if (err != OK) {
        refuse(gateway, request, err == ERR_NOMEM ? REFUSAL_UNAVAILABLE : REFUSAL_UNAUTHORIZED, NULL, 0);
        return false;
    }
    err = check_ticket(gateway, request, visitor);
    if (err != OK || (needs & VISITOR_TICKET && !visitor->has_ticket)) {
        refuse(gateway, request, err == ERR_NOMEM ? REFUSAL_UNAVAILABLE : REFUSAL_BAD_TICKET, NULL, 0);
        return false;
    }
    if (visitor->has_ticket)
        memcpy(visitor->session, visitor->ticket.session, sizeof visitor->session);
    return !(needs & VISITOR_JOINS) || visitor->has_ticket || visitor_may_join(gateway, request);
}

void visitor_cookie(const struct gateway *gateway, const char *session, const char *ticket, char *dst, size_t size)
{
    char name[SESSION_ID_MAX + 40];
    cookie_name(gateway, session, name, sizeof name);
    int len = snprintf(dst, size, "Set-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Lax%s\r\n", name, ticket,
                       gateway->secure_cookies ? "; Secure" : "");
    if (len < 0 || (size_t)len >= size)
        dst[0] = '\0';
}

/** One request from its first byte to its answer: everything that an idle connection or an open stream does not need.
 */
#ifndef ANTEROOM_HTTP_EXCHANGE_H
#define ANTEROOM_HTTP_EXCHANGE_H

#include "common/http/head.h"
#include "common/http/message.h"
#include "common/http/request.h"
#include "common/http/request_id.h"

#include <netinet/in.h>

struct connection;

/* Bytes that came after the request and wait for its answer; reading pauses above the first figure. */
#define EXCHANGE_AHEAD_PAUSE 16384
#define EXCHANGE_AHEAD_MAX (EXCHANGE_AHEAD_PAUSE + 65536)

struct http_request {
    struct connection *connection;
    struct buf block; /* the header block */
    struct head head;
    struct message message;
    struct route_match match;
    const char *label; /* the route's, for on_done */
    struct buf ahead;
    size_t ahead_at; /* what of it is already done */
    void (*gone)(void *data);
    void *gone_data;
    uint64_t started_ns;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer;
    char id[REQUEST_ID_LEN_MAX + 1]; /* "" until the block is complete or refused */
};

/** NULL when memory is short. */
struct http_request *exchange_create(struct connection *connection);
void exchange_destroy(struct http_request *request);
/** Takes header or body bytes off *IN and moves the connection on: to BODY, to READY, or to the answer of a refusal. */
void exchange_feed(struct http_request *request, struct text *in);
/** Finds the route's handler and calls it, once the request is READY. */
void exchange_dispatch(struct http_request *request);
/** Answers for the server itself; the connection ends with the answer. */
void exchange_refuse(struct http_request *request, enum http_refusal refusal);

#endif

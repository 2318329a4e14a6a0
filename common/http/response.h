/** Answers. Each call consumes the request: do not touch it afterwards. */
#ifndef ANTEROOM_HTTP_RESPONSE_H
#define ANTEROOM_HTTP_RESPONSE_H

#include "common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_request;

struct http_response {
    int status;
    const char *type;    /* Content-Type; NULL with an empty body */
    const char *headers; /* more header lines, each ending in CRLF, or NULL. Values must be free of CR and LF. */
    const char *cache;   /* Cache-Control; NULL = "no-store" */
    struct text body;    /* copied */
    bool close;          /* end the connection after the answer */
};

/** Adds Date?, Content-Length, Cache-Control, X-Request-Id, X-Content-Type-Options: nosniff and Connection. */
void http_respond(struct http_request *request, const struct http_response *response);

/** RFC 9457 application/problem+json. */
struct http_problem {
    int status;
    const char *code; /* "bad-session"; type is /problems/<code> */
    const char *title;
    const char *detail; /* one sentence for the client's developer; may hold quoted client input: it is escaped */
    uint32_t retry_after_seconds; /* 0 = none; also the Retry-After header */
    const char *extra;            /* more members as JSON text beginning with ',', or NULL */
    const char *headers;          /* as in http_response */
    bool close;
};

void http_respond_problem(struct http_request *request, const struct http_problem *problem);

/** The problem's JSON body into DST; returns its length, 0 if SIZE is too small. REQUEST_ID is the instance. */
size_t http_problem_json(const struct http_problem *problem, const char *request_id, char *dst, size_t size);

#endif

/** A parsed request. All texts are borrowed until it is answered or gone. */
#ifndef ANTEROOM_HTTP_REQUEST_H
#define ANTEROOM_HTTP_REQUEST_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/http/router.h"

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;
struct http_request;

struct text http_request_method(const struct http_request *request);
/** The target up to '?', as sent; then what follows '?', as sent, {NULL, 0} where there is none. */
struct text http_request_path(const struct http_request *request);
struct text http_request_query(const struct http_request *request);
/** The value of a header, trimmed; {NULL, 0} when absent. NAME in any case. With several of one name: the first. */
struct text http_request_header(const struct http_request *request, const char *name);
/** How many headers of that name, and the INDEX-th of them. */
size_t http_request_header_count(const struct http_request *request, const char *name);
struct text http_request_header_at(const struct http_request *request, const char *name, size_t index);
/** A cookie's value from all Cookie headers, the first of that name; {NULL, 0} when absent. */
struct text http_request_cookie(const struct http_request *request, const char *name);
/** The credentials of Authorization: Bearer, trimmed; {NULL, 0} when it is absent or of another scheme. */
struct text http_request_bearer(const struct http_request *request);
struct text http_request_body(const struct http_request *request);
/** A query parameter, percent-decoded into DST with a NUL. ERR_MISSING, ERR_INVALID (broken escape, given twice, NUL
 *  inside), ERR_TOO_BIG. */
MUST_CHECK enum err http_request_param(const struct http_request *request, const char *name, char *dst, size_t size);
/** Every query parameter is one of NAMES, separated by blanks. */
bool http_request_params_only(const struct http_request *request, const char *names);
/** A path parameter of the route, raw; {NULL, 0} when the route has none of that name. */
struct text http_request_segment(const struct http_request *request, const char *name);
const struct route *http_request_route(const struct http_request *request);
const struct sockaddr *http_request_peer(const struct http_request *request);
/** X-Request-Id, else X-Amzn-Trace-Id, else made; 1 to 128 of [A-Za-z0-9=;:._-], terminated. */
const char *http_request_id(const struct http_request *request);
/** 0 or 1: HTTP/1.0 or 1.1. */
int http_request_minor(const struct http_request *request);

/** Told once if the client goes away before the answer; the request is dead then. NULL takes it back. */
void http_request_on_gone(struct http_request *request, void (*gone)(void *data), void *data);

#endif

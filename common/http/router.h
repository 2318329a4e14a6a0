/** Routes as a table. A pattern's "{name}" takes one path segment. */
#ifndef ANTEROOM_HTTP_ROUTER_H
#define ANTEROOM_HTTP_ROUTER_H

#include "common/base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct http_request;
typedef void http_handler(struct http_request *request, void *context);

struct route {
    const char *method;  /* "GET"; HEAD is served where a HEAD row says so, and nowhere else */
    const char *pattern; /* "/admin/sessions/{session}/places/{place}" */
    const char *name;    /* metric label, e.g. "session" */
    unsigned flags;      /* the program's own */
    http_handler *handle;
};

#define ROUTE_PARAMS_MAX 4

struct route_match {
    const struct route *route;            /* NULL: no such path, or no such method */
    bool path_known;                      /* the path exists with other methods: answer 405 with Allow */
    char allow[64];                       /* "GET, PUT", when path_known and no route */
    struct text names[ROUTE_PARAMS_MAX];  /* of parameters, pointing into the pattern */
    struct text values[ROUTE_PARAMS_MAX]; /* pointing into the path: raw, not percent-decoded */
    size_t param_count;
};

/** Pure. PATH is the request target up to '?', as sent. */
void router_find(const struct route *routes, size_t count, struct text method, struct text path,
                 struct route_match *match);

#endif

/** HTTP/1.1 server over libuv and llhttp, used by both daemons. One loop, one thread. Strict (see docs/http-api.md,
 *  "HTTP/1.1 strictness"); every wait has a deadline; everything a client can grow has a limit.
 *
 *  Life of a request: the handler gets it once and must answer it exactly once, now or later. If the client goes away
 *  before, http_request's gone callback runs once and the request must not be touched again. A client that shuts its
 *  sending side while its request is being handled counts as gone: browsers and proxies never do that. */
#ifndef ANTEROOM_HTTP_SERVER_H
#define ANTEROOM_HTTP_SERVER_H

#include "common/base/err.h"
#include "common/http/router.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct uv_loop_s uv_loop_t;
struct http_server;
struct http_request;

/** What happened to one request, for metrics and the access log. Borrowed for the call. */
struct http_done {
    const struct http_request *request; /* its accessors still work */
    const char *route; /* the route's name, "none" where no route matched, "bad" where it did not parse, "overflow" */
    int status;        /* 0: the client went away before the answer */
    uint64_t duration_ns; /* from the first byte to the end of the answer's head */
};

struct http_settings {
    uv_loop_t *loop;
    const char *name;           /* "public", "admin", "metrics": in log lines */
    const struct route *routes; /* static table, ROUTE_COUNT rows */
    size_t route_count;
    void *context; /* handed to every handler */
    /** Past it a newcomer gets a refusal for its request and is closed: 503 too-many-connections, or, where Accept
     * names text/event-stream, 200 with "retry" and "event: unavailable". on_done calls these "overflow". At most
     *  connections_max / 8 + 16 wait for theirs at once; the rest is closed unread. */
    uint32_t connections_max;
    uint32_t header_timeout_ms; /* from the first byte (or accept) to the end of the header block: 10,000 */
    uint32_t body_timeout_ms;   /* 10,000 */
    uint32_t keepalive_ms;      /* idle between requests: 75,000 */
    uint32_t stall_timeout_ms;  /* unsent bytes without progress: 30,000; noticed within twice that */
    uint32_t send_buffer_bytes; /* SO_SNDBUF; 0 leaves the system's */
    int backlog;
    bool reuseport;
    /** Each request, once: when its answer is taken, when its stream opens, or when its client is gone. Must not close
     * the server. May be NULL. */
    void (*on_done)(void *context, const struct http_done *done);
    /** For every answer, refusals too (then the request may be half parsed and have no route): extra header lines such
     * as "Vary: Origin\r\n" and CORS ones. Writes whole lines to DST (SIZE bytes, 1,024) and returns their length. May
     * be NULL. */
    size_t (*extra_headers)(void *context, const struct http_request *request, char *dst, size_t size);
};

struct http_settings http_settings_default(void);

MUST_CHECK enum err http_server_create(struct http_server **out, const struct http_settings *settings);
/** "127.0.0.1:8080", "[::1]:0", "0.0.0.0:8080"; port 0 picks one. The address really bound goes to BOUND as IP:PORT.
 *  ERR_INVALID (not an address), ERR_IO (in use, no right; errno tells). Several calls give several listeners. */
MUST_CHECK enum err http_server_listen(struct http_server *server, const char *address, char *bound, size_t size);
/** No new connections; open ones go on. */
void http_server_stop_listening(struct http_server *server);
/** From now on every answer carries "Connection: close"; idle connections stay until their own end. */
void http_server_drain(struct http_server *server);
/** Ends everything: requests' gone callbacks and streams' closed callbacks run, then DONE, then the server is freed. */
void http_server_close(struct http_server *server, void (*done)(void *data), void *data);
/** Open connections (without those over the cap), and bytes written to sockets since the start. */
size_t http_server_connections(const struct http_server *server);
uint64_t http_server_sent_bytes(const struct http_server *server);

#endif

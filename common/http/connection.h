/** One TCP connection: its states, its deadline and its output. All that an open stream holds is this struct. */
#ifndef ANTEROOM_HTTP_CONNECTION_H
#define ANTEROOM_HTTP_CONNECTION_H

#include "common/base/list.h"
#include "common/base/text.h"
#include "common/base/wheel.h"
#include "common/http/stream.h"

#include <uv.h>

struct http_request;
struct http_server;

/*  IDLE ─byte─► HEAD ──► BODY ──► READY ──► HANDLING ─answer─► FLUSHING ─written─► IDLE
 *  IDLE ─byte, and others are before it─► QUEUED ─its turn─► HEAD
 *                 └───────┴─(refused)──────────│─────────────────▲  └──(to close)──► LINGER ─► CLOSING
 *                                              └──► STREAM ──end──┘            any ──(lost)──► CLOSING  */
enum connection_state {
    CONNECTION_IDLE,     /* between requests; no exchange */
    CONNECTION_QUEUED,   /* a request's first bytes are here and wait for their turn */
    CONNECTION_HEAD,     /* reading a header block */
    CONNECTION_BODY,     /* reading a body */
    CONNECTION_READY,    /* whole, not yet with its handler */
    CONNECTION_HANDLING, /* with its handler */
    CONNECTION_FLUSHING, /* the answer is taken and is being written */
    CONNECTION_STREAM,   /* an open stream; no exchange */
    CONNECTION_LINGER,   /* our side is shut; reading away the rest, so that no reset overtakes the answer */
    CONNECTION_CLOSING,
};

struct http_stream {
    const struct http_stream_owner *owner; /* NULL once detached */
    void *data;
};

struct connection {
    uv_tcp_t tcp;
    struct http_server *server;
    struct list link;           /* in the server's connections, or in its queue */
    struct wheel_node deadline; /* what it means depends on the state */
    struct http_request *request;
    struct http_stream stream;
    int fd;
    uint32_t unsent;    /* bytes waiting when the stall deadline was set */
    uint32_t discarded; /* bytes read and thrown away */
    uint16_t pending;   /* writes under way in libuv */
    uint16_t peer_port;
    uint8_t peer_address[16];
    bool peer_v6 : 1;
    bool fresh : 1;    /* no byte yet since accept: the header deadline runs from there */
    bool overflow : 1; /* over connections_max: gets one refusal */
    bool paused : 1;   /* not reading, as too much is waiting */
    bool stepping : 1;
    bool keep : 1;    /* goes on after this answer */
    bool chunked : 1; /* the stream's framing */
    bool broken : 1;  /* a send failed: ends at the next tick */
    bool ended : 1;   /* the client sent its FIN */
    bool served : 1;  /* a request was begun in this step: the next one waits for its turn */
    uint8_t state;    /* enum connection_state */
};

/** Takes the newcomer of LISTENER. ERR_NOMEM: not taken. */
MUST_CHECK enum err connection_accept(struct http_server *server, uv_stream_t *listener);
/** Starts reading, or goes on with it. */
void connection_read(struct connection *connection);
/** Does what can be done now with IN (bytes just read, or none). Harmless from inside itself. */
void connection_step(struct connection *connection, struct text in);
/** Its request has its turn. */
void connection_turn(struct connection *connection);
/** The connection is over: tells the request's or stream's owner, once, and closes. REASON is a word for it. */
void connection_close(struct connection *connection, const char *reason);
/** The same with a reset instead of an orderly end: what waits unsent is thrown away by the kernel, too. */
void connection_reset(struct connection *connection, const char *reason);
/** Its deadline is over. */
void connection_expired(struct connection *connection);
/** Sets the deadline, MS from now. */
void connection_deadline(struct connection *connection, uint32_t ms);

/** Everything written, or the rest waits in libuv, or the connection is dead (close it). */
enum output { OUTPUT_SENT, OUTPUT_QUEUED, OUTPUT_FAILED };
enum output connection_send(struct connection *connection, const char *bytes, size_t len);

#endif

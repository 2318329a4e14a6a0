/** Inside the link: its state, and the way to an open socket (names, addresses one after another, a unix socket). */
#ifndef ANTEROOM_REDIS_DIAL_H
#define ANTEROOM_REDIS_DIAL_H

#include "common/base/buf.h"
#include "common/redis/link.h"

#include <uv.h>

#define READ_BYTES 65536
#define PLAIN_BYTES 16384 /* the longest TLS record */

/*   RESOLVING ──► CONNECTING ──► SECURING (rediss only) ──► OPEN
 *                 └─(next address)─┘                       any of them ──► FAILED ──► CLOSED   */
enum link_state { LINK_RESOLVING, LINK_CONNECTING, LINK_SECURING, LINK_OPEN, LINK_FAILED, LINK_CLOSED };

struct redis_link {
    enum link_state state;
    uv_loop_t *loop;
    const struct redis_url *url;
    const struct redis_link_hooks *hooks;
    void *data;
    void (*closed)(void *data);
    unsigned held; /* handles and requests libuv still holds */

    uv_getaddrinfo_t resolving;
    bool is_resolving;
    struct addrinfo *addresses, *address; /* all of them, and the one being tried */
    uint32_t timeout_ms;
    uv_timer_t attempt_timer;
    uv_connect_t connecting;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    bool has_socket;
    char why[512];

    struct redis_tls *tls;
    uv_write_t write;
    bool is_writing;
    struct buf pending; /* being written, or about to be */
    char from_wire[READ_BYTES], plain[PLAIN_BYTES];
};

/** Resolves the host and tries each of its addresses. Ends in redis_link_established or redis_link_fail. ERR_IO. */
MUST_CHECK enum err redis_dial(struct redis_link *link);
/** The same to a unix socket. */
void redis_dial_pipe(struct redis_link *link);

/** The socket is connected: TLS, if asked for, and open. */
void redis_link_established(struct redis_link *link);
/** Once; tells the owner why. */
void redis_link_fail(struct redis_link *link, const char *why);
/** libuv gave one handle or request back; the last of a closed link frees it. */
void redis_link_let_go(struct redis_link *link);

#endif

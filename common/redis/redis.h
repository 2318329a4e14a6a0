/** One connection to Redis over libuv; hiredis formats and parses. Reconnects by itself, never blocks, every call has a
 *  deadline, everything queued is bounded. Single-threaded: all calls and callbacks on the loop's thread.
 *
 *  Contract of a call: it fails at once and never calls back, or returns OK and calls back exactly once, later, from
 * the loop. Closing ends every call with ERR_CANCELED first. */
#ifndef ANTEROOM_REDIS_REDIS_H
#define ANTEROOM_REDIS_REDIS_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/redis/reply.h"
#include "common/redis/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct uv_loop_s uv_loop_t;
struct redis;

/** A change of the connection, told to the owner. */
enum redis_event {
    REDIS_UP,   /* connected, authenticated, selected: calls are sent from now on */
    REDIS_DOWN, /* lost or could not be made; DETAIL says why; a retry is already planned */
};

struct redis_hooks {
    /** May call redis_call, may not close. DETAIL is borrowed for the call; for UP where to, without the password. At
     *  a DOWN the calls it ends are called back right after. May be NULL. */
    void (*on_event)(void *data, enum redis_event event, const char *detail);
    /** A message on the subscribed channel (redis_subscribe). */
    void (*on_message)(void *data, struct text channel, struct text message);
    /** After each answered call, for metrics: the command's name, its outcome, and how long it took. May be NULL. */
    void (*on_done)(void *data, const char *command, enum err err, uint64_t duration_ns);
    void *data;
};

struct redis_settings {
    const struct redis_url *url; /* copied */
    const char *name;            /* for CLIENT SETNAME and logs, e.g. "anteroom-gateway-inbox"; copied */
    uint32_t window;             /* calls on the wire at once; 1 for a blocking-read connection */
    uint32_t queue_calls_max;    /* calls waiting behind the window; past it ERR_BUSY */
    size_t queue_bytes_max;      /* bytes of all calls not yet written; past it ERR_BUSY */
    size_t reply_bytes_max;      /* a longer reply ends the connection (ERR_PROTOCOL) */
    uint32_t connect_timeout_ms; /* resolve, connect, TLS, AUTH, SELECT together */
    uint32_t ping_every_ms;      /* watchdog while idle; 0 = none (blocking reads have their own deadlines) */
    uint32_t backoff_min_ms, backoff_max_ms;
    struct redis_hooks hooks;
};

/** Sensible values for a pipelined command connection; change what differs. */
struct redis_settings redis_settings_default(void);

/** May be NULL for a call whose outcome nobody needs. REPLY is borrowed for the call, and non-NULL exactly when ERR is
 * OK or ERR_REPLY (then it is Redis' error text). ERR_UNSENT, ERR_BUSY: surely not carried out. ERR_TIMEOUT, ERR_LOST,
 * ERR_CANCELED: perhaps carried out. */
typedef void redis_callback(void *data, enum err err, const struct redis_reply *reply);

/** Starts connecting. ERR_NOMEM, ERR_IO. */
MUST_CHECK enum err redis_create(struct redis **out, uv_loop_t *loop, const struct redis_settings *settings);
/** Every outstanding call ends with ERR_CANCELED before this returns, then DONE (may be NULL) is called from the loop
 * once all of libuv's handles are closed and freed. Once per connection; allowed in every callback but on_event. */
void redis_close(struct redis *redis, void (*done)(void *data), void *data);
bool redis_is_up(const struct redis *redis);
/** Calls queued or on the wire. */
size_t redis_pending(const struct redis *redis);
/** Drop the connection in the loop's next turn and connect again (all calls on the wire end with ERR_LOST). For peers
 *  known to be useless. Does nothing while there is no connection. */
void redis_reconnect(struct redis *redis, const char *why);

/** Sends one command of ARGC byte strings (copied). While the connection is down: ERR_UNSENT at once. TIMEOUT_MS from
 *  now, on the queue and the wire together; a call that times out on the wire drops the connection, as its answer would
 *  be taken for the next one's; one that times out in the queue ends with ERR_UNSENT. After the errors READONLY,
 * LOADING, MASTERDOWN, CLUSTERDOWN and UNBLOCKED (told as ERR_REPLY) the connection is made anew. ERR_BUSY, ERR_NOMEM.
 */
MUST_CHECK enum err redis_call(struct redis *redis, size_t argc, const struct text *argv, uint32_t timeout_ms,
                               redis_callback *callback, void *data);

/** A Lua script with its SHA-1 in lower-case hex, both static. */
struct redis_script {
    const char *name; /* the on_done hook's command name */
    const char *body;
    char sha1[41]; /* filled by redis_script_prepare */
};

void redis_script_prepare(struct redis_script *script);

/** EVALSHA, and EVAL once where Redis answers NOSCRIPT (the call surely did not run). One deadline for both. KEYS then
 *  ARGS, byte strings, copied. Otherwise as redis_call. */
MUST_CHECK enum err redis_eval(struct redis *redis, const struct redis_script *script, size_t key_count,
                               const struct text *keys, size_t arg_count, const struct text *args, uint32_t timeout_ms,
                               redis_callback *callback, void *data);

/** Makes this a subscriber connection: SUBSCRIBE CHANNEL now and after every reconnect, messages go to on_message, and
 *  no other call is allowed on it (the watchdog still pings). Once per connection. Called before the first REDIS_UP,
 * every REDIS_UP means subscribed; later, the first SUBSCRIBE is under way when this returns. ERR_NOMEM, ERR_CANCELED.
 */
MUST_CHECK enum err redis_subscribe(struct redis *redis, struct text channel);

#endif

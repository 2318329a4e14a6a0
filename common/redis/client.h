/** The parts of one connection, shared by the files of this folder and by nobody else.
 *
 *      redis.c      the public calls
 *      request.c    a call: made, queued, written, ended
 *      session.c    the connection: connect, greet, up, dropped, again
 *      answer.c     bytes into replies, each to the request it belongs to
 *      script.c     EVALSHA, and EVAL where the script is not known
 *      link.c tls.c the stream of bytes below */
#ifndef ANTEROOM_REDIS_CLIENT_H
#define ANTEROOM_REDIS_CLIENT_H

#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/list.h"
#include "common/redis/deadlines.h"
#include "common/redis/link.h"
#include "common/redis/redis.h"

#include <uv.h>

struct redis_parser;

/*   WAITING ──(timer)──► CONNECTING ──► GREETING ──► UP
 *      ▲                     │              │         │        any of them ──► CLOSING
 *      └────────────────── dropped ─────────┴─────────┘   */
enum session_state { SESSION_WAITING, SESSION_CONNECTING, SESSION_GREETING, SESSION_UP, SESSION_CLOSING };

/** Everything but REQUEST_CALL is our own: no callback, no deadline, no place in the window. */
enum request_kind {
    REQUEST_CALL,
    REQUEST_AUTH,
    REQUEST_SELECT,
    REQUEST_NAME,
    REQUEST_READY, /* a PING: LOADING and a missing password show here, not at the first call */
    REQUEST_SUBSCRIBE,
    REQUEST_WATCHDOG,
};

enum request_place { REQUEST_NOWHERE, REQUEST_QUEUED, REQUEST_ON_WIRE, REQUEST_ENDED };

/** Owns itself: in exactly one of the lists queue or repeat, wire, ended, or being called back. */
struct redis_request {
    struct list node;
    struct deadline deadline;
    enum request_kind kind;
    enum request_place place;
    enum err err; /* once ended without a reply */
    redis_callback *callback;
    void *data;
    uint64_t start_ns;
    const char *command; /* for on_done: the script's name, or command_copy */
    char command_copy[24];
    char *bytes; /* made by hiredis; freed once written, but for scripts */
    size_t len;
    const struct redis_script *script; /* NULL for plain commands */
    bool whole_script;                 /* EVAL, as EVALSHA found nothing */
};

struct redis {
    uv_loop_t *loop;
    struct redis_settings settings;
    struct redis_url url;
    char name[64];
    char *channel; /* subscribed to; NULL for connections of commands */
    size_t channel_len;

    enum session_state state;
    struct redis_link *link;     /* NULL while waiting or closing */
    struct redis_parser *parser; /* outlives its link until the next one: a callback may drop the link while we parse */
    unsigned greetings;          /* answers missing until up */
    bool pinging, heard;         /* watchdog: PING is out; something came since the timer was set */
    bool answered;               /* the connection proved useful: the backoff starts anew */
    bool asked_to_reconnect;
    char why[192]; /* for asked_to_reconnect */
    uint64_t up_since_ms;
    struct backoff backoff;
    uv_timer_t session_timer; /* retry, connect deadline or watchdog, by state */

    struct list queue, repeat, wire, ended;      /* repeat goes before queue: it was written once already */
    size_t queue_calls, queue_bytes, wire_calls; /* of REQUEST_CALL only; queue and repeat together */
    struct deadlines deadlines;
    uv_timer_t deadline_timer;
    uint64_t deadline_armed_ms; /* when the timer will look; UINT64_MAX = stopped */
    bool second_look;           /* the loop has polled since a deadline passed */
    struct buf out;             /* commands of one write */
    uv_idle_t turn;             /* runs once, in the loop's next turn: write, or reconnect */

    unsigned held; /* handles and links to be closed before the end */
    void (*on_closed)(void *data);
    void *on_closed_data;
};

/* request.c */
/** One that is formatted but in no list. NULL without memory. */
struct redis_request *redis_request_create(enum request_kind kind, size_t argc, const struct text *argv);
void redis_request_destroy(struct redis_request *request);
/** Behind all others; written in the loop's next turn. Takes the request over only when OK. ERR_BUSY, ERR_NOMEM. */
MUST_CHECK enum err redis_request_queue(struct redis *redis, struct redis_request *request, uint32_t timeout_ms);
/** From the wire to be written once more, before everything queued, under the same deadline. */
void redis_request_repeat(struct redis *redis, struct redis_request *request);
/** The answer has come: off the wire, called back, freed. */
void redis_request_finish(struct redis *redis, struct redis_request *request, enum err err,
                          const struct redis_reply *reply);
/** Every request leaves queue and wire: calls go to `ended` (the first on the wire with HEAD, the others with WIRE,
 *  queued ones with QUEUE), ours are freed. */
void redis_requests_end(struct redis *redis, enum err head, enum err wire, enum err queue);
/** Calls back all of `ended`. */
void redis_requests_deliver(struct redis *redis);
/** Calls whose time is over by NOW_MS go to `ended`. True: one was on the wire, so the link must go. */
MUST_CHECK bool redis_requests_expire(struct redis *redis, uint64_t now_ms);
/** Writes what the window and the link allow. NULL, or why the link is useless. */
MUST_CHECK const char *redis_requests_write(struct redis *redis);

/* session.c */
/** Retry, connect deadline or watchdog, by state. */
void redis_session_timer(uv_timer_t *timer);
void redis_session_deadline(uv_timer_t *timer);
/** The timer will look at the earliest deadline. */
void redis_session_arm(struct redis *redis);
/** Something is to be done in the loop's next turn. */
void redis_session_wake(struct redis *redis);
void redis_session_turn(uv_idle_t *turn);
/** Gives the link up and plans the next; calls end as in redis_requests_end(HEAD, ERR_LOST, ERR_UNSENT). */
void redis_session_drop(struct redis *redis, enum err head, const char *why);
/** Drops for an error reply: "WHAT: its text", made printable and without the password. */
void redis_session_refused(struct redis *redis, const char *what, const struct redis_reply *reply);
/** The answer to a request of our own. */
void redis_session_answer(struct redis *redis, enum request_kind kind, const struct redis_reply *reply);
/** SUBSCRIBE to the channel. False: no memory. */
MUST_CHECK bool redis_session_subscribe(struct redis *redis);
/** A handle or link of REDIS is closed; the last one ends it. */
void redis_session_let_go(void *redis);

/* answer.c */
void redis_answer_bytes(void *redis, const char *bytes, size_t len);

/* script.c */
/** Appends the command to OUT: as it is, or as EVAL with the script's body. ERR_NOMEM. */
MUST_CHECK enum err redis_script_write(const struct redis_request *request, struct buf *out);

#endif

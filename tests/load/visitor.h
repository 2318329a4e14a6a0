/** One visitor: joins, listens, perhaps drops the connection once and comes back through another target, perhaps
 * leaves.
 *
 *      IDLE ─► JOINING ─► WAITING ─► ENTERED                      any final refusal ─► REFUSED
 *                 ▲          │ ├───► LEFT
 *                 └──(again)─┘ └───► CLOSED (closed, superseded)
 *
 *  Again, through the next target and after "retry": when the connection ends, on "unavailable", and on a 502, 503 or
 *  504 of a load balancer's own. A leave is asked for again in the same way until a gateway takes it. */
#ifndef ANTEROOM_LOAD_VISITOR_H
#define ANTEROOM_LOAD_VISITOR_H

#include "tests/load/answer.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct crowd;

struct visitor {
    struct crowd *crowd;
    enum {
        VISITOR_IDLE,
        VISITOR_JOINING,
        VISITOR_WAITING,
        VISITOR_ENTERED,
        VISITOR_LEFT,
        VISITOR_CLOSED,
        VISITOR_REFUSED
    } state;
    uint32_t number, target;
    bool open, closing, leaves, drops, dropped, returned, leaving;
    bool asked;       /* a connection for the leave was made */
    bool reconnected; /* asked for the stream more than once */
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_timer_t timer;
    struct answer answer;
    char *ticket; /* the last id */
    uint64_t ticket_number, first_ticket;
    int64_t position; /* last shown, 0 none */
    int64_t retry_ms;
    uint64_t joined_ns; /* when the request was sent */
    bool framed;        /* the first frame has come */
    int64_t admitted_ms;
    char place[24]; /* jti of the entry */
};

void visitor_init(struct visitor *visitor, struct crowd *crowd, uint32_t number);
void visitor_start(struct visitor *visitor);
/** Closes what is open; nothing more happens to it. */
void visitor_stop(struct visitor *visitor);

#endif

/** Writing state frames to everybody, in slices: at most PUSH_SLICE sends, then the loop polls, so that entries and
 * joins never wait behind a broadcast. Those at the front of a line are told at every change, all others at most once a
 * second; a frame is exact when it is written. Comments keep silent connections open. */
#ifndef ANTEROOM_GATEWAY_PUSH_H
#define ANTEROOM_GATEWAY_PUSH_H

#include "common/base/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define PUSH_SLICE 32
#define PUSH_NEAR 64       /* rows told at every change */
#define PUSH_WHOLE_MS 1000 /* between two walks over everybody */
#define PUSH_REFRESH_S 5   /* so old a frame is written anew when what it shows changed: after 10 s at most */
#define HEARTBEAT_RING 64  /* > the longest HEARTBEAT_S */

struct gateway;
struct place;
struct session;
struct sse;

struct push {
    struct gateway *gateway;
    struct list work;     /* sessions with something to do now */
    struct list deferred; /* sessions whose walk is not due yet */
    struct list ring[HEARTBEAT_RING];
    struct list silent; /* places whose comment is due */
    uint32_t now_s;     /* seconds since start, from 1 */
    bool running;
    uv_idle_t idle; /* active while there is work: the loop then polls without waiting */
    uv_timer_t due;
};

void push_init(struct push *push, struct gateway *gateway);
void push_close(struct push *push);
/** Something changed for everybody in this session. */
void push_session(struct push *push, struct session *session);
/** A frame for PLACE's stream, by which it is shown SHOWN and the session's notice. True when it was sent; a socket
 * that is full gets whatever holds when it drains. */
bool push_send(struct push *push, struct place *place, struct sse *sse, uint32_t shown);
/** One connection can take a frame again. */
void push_one(struct push *push, struct place *place);
/** A new connection in the comment ring. */
void push_heartbeat(struct push *push, struct place *place);
/** Each second. */
void push_second(struct push *push);
/** The session goes away. */
void push_cancel(struct session *session);

#endif

/** The lobby of a session as this gateway sees it: connections of places that wait for the draw, without a ticket, and
 * what their `lobby` frames say. News (another start, another order) is told at once, a new count every few seconds. */
#ifndef ANTEROOM_GATEWAY_LOBBY_H
#define ANTEROOM_GATEWAY_LOBBY_H

#include "common/line/line.h"
#include "common/line/seed.h"
#include "gateway/roster.h"

#include <stdbool.h>

#define LOBBY_COUNT_S 5 /* between two frames to one connection that differ in the count only */

struct push;
struct place;
struct session;
struct sse;

struct lobby {
    struct roster roster; /* in the order in which they connected */
    uint64_t waiting;     /* in Redis, of all gateways */
    int64_t starts_at_ms; /* 0 = none */
    char order[8], seed_hash[SEED_SIZE];
    bool over;        /* Redis says that nobody waits for a draw: who is left here missed it */
    uint32_t version; /* of what the frames say; a place's `shown` is the one it was told */
    bool unsure;      /* some were let go: all are looked up at the next sweep */
    bool walking;
    size_t cursor;
    uint32_t refresh_s; /* when a new count is told; 0 = there is none */
};

/** A picture, and the figures of an announcement. */
void lobby_take_picture(struct session *session, const struct line_picture *picture);
void lobby_take_state(struct session *session, uint64_t waiting, struct text phase);
/** The frame as it stands now, with at least LEAST people in the lobby (what a newcomer was told by Redis). */
void lobby_frame(struct sse *sse, const struct session *session, uint64_t least);
/** Everybody here whose frame or notice is old is told, in slices. */
void lobby_tell(struct session *session);
/** Tells some places of a walk; gives how many frames were sent. */
size_t lobby_slice(struct push *push, struct session *session, size_t budget);
/** PLACE's socket can take a frame again. */
void lobby_push_one(struct push *push, struct place *place);
/** A new count was kept back long enough. */
bool lobby_due(const struct session *session, uint32_t now_s);
/** At each sweep: who is left in the lobby here is looked up where a draw may have been missed, or they were let go. */
void lobby_sweep(struct session *session);
void lobby_look_up_all(struct session *session);

#endif

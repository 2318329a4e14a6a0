/** Parks and leaves on their way to Redis. Each is guarded by the connection or the generation, so it may be repeated
 * until an answer comes: what could not be written while Redis was away is written afterwards. */
#ifndef ANTEROOM_GATEWAY_PARKS_H
#define ANTEROOM_GATEWAY_PARKS_H

#include "common/base/err.h"
#include "common/base/list.h"
#include "common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* About 200 bytes each. Past it the oldest is dropped: its place keeps its seat until the gateway's next boot. */
#define PARKS_MAX 200000

#define PARKS_AGAIN_MS 10000
#define PARKS_SPARE 64 /* kept for when there is no memory */

struct gateway;

struct parks {
    struct gateway *gateway;
    struct list waiting; /* to be sent as soon as possible */
    struct list later;   /* to be sent once more, oldest first */
    size_t count;        /* in both, and on the wire */
    struct list spare;
    size_t spares;
};

void parks_init(struct parks *parks, struct gateway *gateway);
void parks_finish(struct parks *parks);
/** The connection is gone. USER: for a join whose answer never came and that may have taken the user's older place.
 * Such a call may still lie unread in an old socket and be carried out after its park, so SHORT_STAY parks twice,
 * PARKS_AGAIN_MS apart. */
void parks_add(struct parks *parks, struct text session, struct text place, struct text conn, struct text user,
               bool short_stay);
/** The visitor gave the place up, with a ticket of generation GEN. False: no memory, nothing was done. */
MUST_CHECK bool parks_add_leave(struct parks *parks, struct text session, struct text place, uint32_t gen);
/** Those without an answer yet (a repetition that is due later does not count). */
size_t parks_unsent(const struct parks *parks);
/** Sends what waits, a bounded number at a time; called when Redis is there and each second. */
void parks_flush(struct parks *parks);

#endif

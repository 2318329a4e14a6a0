/** Many deadlines, one timer: a ring of buckets. Set and cancel are O(1) and allocate nothing. Pure: time comes in as
 *  monotonic milliseconds. A deadline is never early and late by at most one tick plus the owner's own delay. */
#ifndef ANTEROOM_BASE_WHEEL_H
#define ANTEROOM_BASE_WHEEL_H

#include "common/base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEEL_BUCKETS 256

struct wheel {
    struct list buckets[WHEEL_BUCKETS];
    struct list due;
    uint64_t tick; /* everything due up to here is in DUE */
    uint32_t tick_ms;
    size_t armed; /* nodes in buckets or due */
};

struct wheel_node {
    struct list link;
    uint64_t due_tick;
};

void wheel_init(struct wheel *wheel, uint32_t tick_ms, uint64_t now_ms);
void wheel_node_init(struct wheel_node *node);
/** Arms NODE for DUE_MS, or moves it there. A time gone by is due at the next tick. */
void wheel_set(struct wheel *wheel, struct wheel_node *node, uint64_t due_ms);
/** Harmless when it is not armed. */
void wheel_cancel(struct wheel *wheel, struct wheel_node *node);
/** Moves what is due by NOW_MS to where wheel_pop finds it. */
void wheel_advance(struct wheel *wheel, uint64_t now_ms);
/** The next due node, disarmed; NULL when there is none. Any node may be set or cancelled between two calls. */
struct wheel_node *wheel_pop(struct wheel *wheel);

static inline bool wheel_armed(const struct wheel_node *node)
{
    return !list_empty(&node->link);
}

#endif

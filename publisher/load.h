/** The load of the sites behind the sessions, as read from Redis: what the metrics say of each key, and a line in the
 * log when a value goes missing and when it is back. The admit script decides what a load means. */
#ifndef ANTEROOM_PUBLISHER_LOAD_H
#define ANTEROOM_PUBLISHER_LOAD_H

#include "common/base/map.h"
#include "common/line/adaptive.h"
#include "common/redis/reply.h"

#include <stdint.h>

/** Keys remembered at once; one that nobody reads for LOAD_FORGET_MS is forgotten first. */
#define LOADS_MAX 1000
#define LOAD_FORGET_MS 60000
/** Room for what the admit script is given: a number's text, or "missing". */
#define LOAD_TEXT_SIZE 32

struct metrics;

struct loads {
    struct metrics *metrics;
    struct map items; /* struct load by key */
};

void loads_init(struct loads *loads, struct metrics *metrics);
void loads_finish(struct loads *loads);
/** KEY was read (with GET) at NOW_MS, monotonic: TEXT gets the value, or "missing" where there is none or none that
 * makes sense. */
void loads_take(struct loads *loads, const char *key, const struct redis_reply *reply, uint64_t now_ms,
                char text[LOAD_TEXT_SIZE]);

#endif

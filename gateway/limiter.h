/** How often one address may join: a token bucket each (COUNT per PERIOD, refilled evenly), for at most
 * LIMITER_ADDRESSES at once; whoever was quiet longest is forgotten first, and everyone after LIMITER_FORGET_MS,
 * or PERIOD where that is longer: the bucket is full again then. IPv6 counts by /64. Pure: time comes in. */
#ifndef ANTEROOM_GATEWAY_LIMITER_H
#define ANTEROOM_GATEWAY_LIMITER_H

#include "common/base/map.h"
#include "gateway/network.h"

#define LIMITER_ADDRESSES 100000
#define LIMITER_FORGET_MS 600000

struct limiter {
    uint32_t count, period_ms; /* count 0: off */
    size_t addresses_max;
    struct map buckets;
    struct list by_use; /* least recently used first */
};

/** "5/10" = 5 per 10 s, or "off". ERR_INVALID. */
MUST_CHECK enum err limiter_parse(struct text text, uint32_t *count, uint32_t *period_ms);
void limiter_init(struct limiter *limiter, uint32_t count, uint32_t period_ms, size_t addresses_max);
void limiter_finish(struct limiter *limiter);
/** True: allowed, and counted. False: *WAIT_MS until one is allowed again. Without memory for a new address: allowed.
 */
bool limiter_allow(struct limiter *limiter, const struct address *address, uint64_t now_ms, uint32_t *wait_ms);

#endif

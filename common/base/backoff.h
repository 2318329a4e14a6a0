/** Exponential backoff with full jitter: each wait is uniform in [0, ceiling], and the ceiling doubles.
 *  Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. Pure: randomness comes in. */
#ifndef ANTEROOM_BASE_BACKOFF_H
#define ANTEROOM_BASE_BACKOFF_H

#include <stdint.h>

struct backoff {
    uint32_t min_ms, max_ms, ceiling_ms;
};

static inline void backoff_init(struct backoff *backoff, uint32_t min_ms, uint32_t max_ms)
{
    *backoff = (struct backoff){min_ms, max_ms, min_ms};
}

static inline void backoff_reset(struct backoff *backoff)
{
    backoff->ceiling_ms = backoff->min_ms;
}

/** The next wait. RANDOM is uniform over all 32-bit values. */
static inline uint32_t backoff_next_ms(struct backoff *backoff, uint32_t random)
{
    uint32_t wait = (uint32_t)((uint64_t)random * ((uint64_t)backoff->ceiling_ms + 1) >> 32);
    backoff->ceiling_ms = backoff->ceiling_ms > backoff->max_ms / 2 ? backoff->max_ms : backoff->ceiling_ms * 2;
    return wait;
}

#endif

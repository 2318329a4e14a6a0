/** Admissions a second while people wait, as measured. Time in which nobody waits or the operator holds the line does
 * not count: what is wanted is how fast the line moves, not how many come. Pure: time comes in. */
#ifndef ANTEROOM_PUBLISHER_RATE_H
#define ANTEROOM_PUBLISHER_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RATE_SLOTS 32
#define RATE_WINDOW_MS 30000
#define RATE_SLOT_MS 1000

/** Admissions come in batches, so each slot ends with its last batch, and a rate is always taken from one batch's time
 * to another's: else it would swing with how long the last one is ago. */
struct rate {
    struct rate_slot {
        uint64_t end_ms, count; /* on the busy clock */
    } slots[RATE_SLOTS];        /* oldest first; the first one's count is not used: it is where measuring began */
    size_t slot_count;
    uint64_t busy_ms, seen_ms; /* time that counted so far; when the last look was */
    bool busy;                 /* people waited after the last look */
};

void rate_init(struct rate *rate);
/** A look at the line: how many were admitted just now, and whether people wait on with the line open. */
void rate_observe(struct rate *rate, uint64_t now_ms, uint64_t admitted, bool busy);
/** Admissions a second; 0 = unknown. */
double rate_value(const struct rate *rate);

#endif

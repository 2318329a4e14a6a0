/** How a line moves, measured from its ticks: admissions a second while people wait, how unsteady they are, and how
 * many of those who wait leave. Time in which nobody waits or the operator holds the line does not count: what is
 * wanted is how fast the line moves, not how many come. Pure: time comes in. */
#ifndef ANTEROOM_PUBLISHER_PACE_H
#define ANTEROOM_PUBLISHER_PACE_H

#include "common/line/eta.h"
#include "publisher/admission.h"

#define PACE_SLOTS 64
#define PACE_SLOT_MS 1000      /* batches closer than this are one slot */
#define PACE_WINDOW_MS 30000   /* a new pace is believed after so long */
#define PACE_HISTORY_MS 600000 /* an old one is remembered for so long */

/** Admissions come in batches, so each slot ends with its last batch, and a rate is always taken from one batch's time
 *  to another's: else it would swing with how long the last one is ago. */
struct pace_meter {
    struct pace_slot {
        uint64_t end_ms, count, batches; /* on the busy clock */
    } slots[PACE_SLOTS];                 /* oldest first; of the first one only the end counts: there measuring began */
    size_t slot_count;
    uint64_t slot_ms;          /* doubled whenever the slots are full */
    uint64_t busy_ms, seen_ms; /* time that counted so far; when the last look was */
    uint64_t batch_ms;         /* the last admission, on the busy clock */
    bool busy;                 /* people waited after the last look */
    uint64_t waiting;          /* how many */
    double left, stayed_s;     /* departures, and the time people waited, both fading */
};

void pace_init(struct pace_meter *meter);
/** A tick found this (LINE_OK). */
void pace_observe(struct pace_meter *meter, uint64_t now_ms, const struct admission *admission);
/** What is known; a rate of 0 = nothing yet. */
struct pace pace_value(const struct pace_meter *meter);

#endif

/** How right the ETAs are: of one ticket at a time what it was told at its join is remembered, and compared with how
 *  long it took once the head has passed it. Nothing is kept for anybody else. Time in which the line was held by the
 *  operator counts on neither side. Pure. */
#ifndef ANTEROOM_PUBLISHER_PROMISE_H
#define ANTEROOM_PUBLISHER_PROMISE_H

#include "common/line/eta.h"
#include "publisher/admission.h"

#define PROMISE_SMOOTHING 4 /* each new one counts a quarter */

struct promise {
    uint64_t epoch, ticket; /* the sample; ticket 0: none */
    uint64_t made_ms;       /* on the pace's busy clock */
    double told_s;
    uint64_t tail; /* of the last look */
    uint64_t kept; /* samples that came to their end */
    double error;  /* |actual - told| / told, smoothed */
};

/** A tick found this. BUSY_MS: time that counted so far. */
void promise_observe(struct promise *promise, const struct pace *pace, uint64_t busy_ms,
                     const struct admission *admission);

#endif

/** What the crowd saw, and whether any promise was broken. */
#ifndef ANTEROOM_LOAD_SUMMARY_H
#define ANTEROOM_LOAD_SUMMARY_H

#include "common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REFUSAL_KINDS 32

struct latencies {
    double *ms;
    size_t count, cap;
};

struct summary {
    size_t visitors, joined, admitted, left, closed, reconnects, frames, failed_connects;
    /** A position error is a frame whose figures do not add up, or whose position rose or is above the own ticket
     *  number. What two visitors are shown is not compared: frames carry no moment, each is right for its own. */
    size_t order_violations, duplicate_entries, position_errors;
    /** Another ticket after a reconnect; "expired" while connected; "superseded" without a reconnect. */
    size_t places_lost;
    /** By code, or status-503 and the like where the answer had none. These are answers, not visitors: who is told to
     *  come back later ("unavailable") or meets a 502, 503 or 504 without a code counts again each time. */
    struct {
        char code[40];
        size_t count;
    } refused[REFUSAL_KINDS];
    size_t waiting; /* still, at the end */
    struct latencies join, entry;
};

void latency_add(struct latencies *latencies, double ms);
void summary_refused(struct summary *summary, struct text code);
bool summary_broken(const struct summary *summary);
/** As text for people, or as one JSON object. */
void summary_print(struct summary *summary, double seconds, FILE *out);
void summary_json(struct summary *summary, double seconds, FILE *out);
void summary_finish(struct summary *summary);

#endif

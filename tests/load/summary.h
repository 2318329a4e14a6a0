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
    size_t order_violations, duplicate_entries, position_errors, places_lost;
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

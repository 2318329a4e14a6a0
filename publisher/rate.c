#include "publisher/rate.h"

#include <string.h>

void rate_init(struct rate *rate)
{
    *rate = (struct rate){.slot_count = 1};
}

static void slot_open(struct rate *rate, uint64_t end_ms, uint64_t count)
{
    if (rate->slot_count == RATE_SLOTS) {
        memmove(rate->slots, rate->slots + 1, (RATE_SLOTS - 1) * sizeof rate->slots[0]);
        rate->slot_count--;
    }
    rate->slots[rate->slot_count++] = (struct rate_slot){end_ms, count};
}

/* Forgets what is older than the window, but keeps two slots behind the start: a batch may come once an hour. */
static void slots_forget(struct rate *rate)
{
    size_t old = 0;
    while (rate->slot_count - old > 3 && rate->busy_ms - rate->slots[old].end_ms > RATE_WINDOW_MS)
        old++;
    memmove(rate->slots, rate->slots + old, (rate->slot_count - old) * sizeof rate->slots[0]);
    rate->slot_count -= old;
}

void rate_observe(struct rate *rate, uint64_t now_ms, uint64_t admitted, bool busy)
{
    if (!rate->busy) { /* what came straight in says nothing about the pace: measuring begins behind it */
        rate->slots[rate->slot_count - 1].end_ms = rate->busy_ms;
    } else {
        struct rate_slot *last = &rate->slots[rate->slot_count - 1];
        rate->busy_ms += now_ms - rate->seen_ms;
        if (admitted > 0 && rate->slot_count > 1 && rate->busy_ms - (last - 1)->end_ms <= RATE_SLOT_MS)
            *last = (struct rate_slot){rate->busy_ms, last->count + admitted};
        else if (admitted > 0)
            slot_open(rate, rate->busy_ms, admitted);
        slots_forget(rate);
    }
    rate->busy = busy;
    rate->seen_ms = now_ms;
}

double rate_value(const struct rate *rate)
{
    uint64_t count = 0, batches = rate->slot_count - 1;
    if (batches == 0)
        return 0;
    for (size_t i = 1; i < rate->slot_count; i++)
        count += rate->slots[i].count;
    uint64_t end = rate->slots[batches].end_ms, spent = end - rate->slots[0].end_ms, quiet = rate->busy_ms - end;
    uint64_t usual = 2 * spent / batches; /* a longer silence than this slows the rate down */
    if (quiet > usual)
        spent += quiet - usual;
    return spent ? (double)count * 1000 / (double)spent : 0;
}

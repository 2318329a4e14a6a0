#include "publisher/pace.h"

#include <math.h>
#include <string.h>

#define BATCH_GAP_MS 50       /* ticks closer than this are chunks of one batch */
#define LEAVING_FADE_S 120.0  /* what is so old counts a third */
#define DRIFT_MIN 0.05        /* no pace is better known */
#define CHANGE_DEVIATIONS 4.0 /* so far off the older slots' rate is another pace */
#define PRIOR_BATCHES 2.0     /* unsteadiness that is believed of a pace seen for so few batches: */
#define PRIOR_VARIANCE 0.25   /* each half a batch early or late */

void pace_init(struct pace_meter *meter)
{
    *meter = (struct pace_meter){.slot_count = 1, .slot_ms = PACE_SLOT_MS};
}

/* ---- slots ---- */

static void slots_drop(struct pace_meter *meter, size_t count)
{
    memmove(meter->slots, meter->slots + count, (meter->slot_count - count) * sizeof meter->slots[0]);
    meter->slot_count -= count;
}

/* Two slots become one, so that the history gets longer and not finer. */
static void slots_merge(struct pace_meter *meter)
{
    size_t to = 1;
    for (size_t from = 1; from < meter->slot_count; from += 2, to++) {
        struct pace_slot slot = meter->slots[from];
        if (from + 1 < meter->slot_count) {
            slot.end_ms = meter->slots[from + 1].end_ms;
            slot.count += meter->slots[from + 1].count;
            slot.batches += meter->slots[from + 1].batches;
        }
        meter->slots[to] = slot;
    }
    meter->slot_count = to;
    meter->slot_ms *= 2;
}

static void batch_take(struct pace_meter *meter, uint64_t count)
{
    struct pace_slot *last = &meter->slots[meter->slot_count - 1];
    bool same = meter->busy_ms - meter->batch_ms < BATCH_GAP_MS;
    if (same && meter->slot_count == 1) {
        last->end_ms = meter->busy_ms; /* of the batch before measuring began */
    } else if (same || (meter->slot_count > 1 && meter->busy_ms - (last - 1)->end_ms <= meter->slot_ms)) {
        *last = (struct pace_slot){meter->busy_ms, last->count + count, last->batches + !same};
    } else {
        if (meter->slot_count == PACE_SLOTS)
            slots_merge(meter);
        meter->slots[meter->slot_count++] = (struct pace_slot){meter->busy_ms, count, 1};
    }
    meter->batch_ms = meter->busy_ms;
}

/* Slots [FROM, TO) behind slot FROM - 1. */
struct span {
    double seconds, count, batches, variance; /* variance: of the count, a second, around the span's own rate */
};

static double deviation(const struct pace_meter *meter, size_t from, size_t to, double rate)
{
    double count = 0;
    for (size_t i = from; i < to; i++)
        count += (double)meter->slots[i].count;
    return count - rate * (double)(meter->slots[to - 1].end_ms - meter->slots[from - 1].end_ms) / 1000;
}

/* Admissions that come in bursts or drift are more unsteady over long stretches than over short ones, so the worst of
 * several lengths is taken, as long as there are four of it. */
static struct span span_of(const struct pace_meter *meter, size_t from, size_t to)
{
    struct span span = {.seconds = (double)(meter->slots[to - 1].end_ms - meter->slots[from - 1].end_ms) / 1000};
    for (size_t i = from; i < to; i++) {
        span.count += (double)meter->slots[i].count;
        span.batches += (double)meter->slots[i].batches;
    }
    double rate = span.seconds > 0 ? span.count / span.seconds : 0;
    for (size_t length = 1; span.seconds > 0 && (length == 1 || 4 * length <= to - from); length *= 2) {
        size_t pieces = (to - from) / length;
        double sum = 0, covered_ms = 0;
        for (size_t i = from; i + length <= to; i += length) {
            double off = deviation(meter, i, i + length, rate);
            sum += off * off;
            covered_ms += (double)(meter->slots[i + length - 1].end_ms - meter->slots[i - 1].end_ms);
        }
        sum *= pieces > 1 ? 1000 * (double)pieces / (double)(pieces - 1)
                          : 1000; /* the rate was taken from the same pieces */
        if (covered_ms > 0 && sum / covered_ms > span.variance)
            span.variance = sum / covered_ms;
    }
    return span;
}

static double prior(double rate, double step_s)
{
    return PRIOR_BATCHES * PRIOR_VARIANCE * rate * rate * step_s * step_s;
}

/* Forgets what is too old, but keeps two slots behind the start: a batch may come once an hour. Then, once the newest
 * slots are of another pace than those before them, those before. */
static void slots_forget(struct pace_meter *meter)
{
    size_t old = 0, recent;
    while (meter->slot_count - old > 3 && meter->busy_ms - meter->slots[old].end_ms > PACE_HISTORY_MS)
        old++;
    slots_drop(meter, old);
    for (recent = meter->slot_count; recent > 1; recent--)
        if (meter->busy_ms - meter->slots[recent - 2].end_ms > PACE_WINDOW_MS)
            break;
    if (recent < 3 || meter->slot_count - recent < 2) /* slots [recent, slot_count) are of the last window */
        return;
    struct span before = span_of(meter, 1, recent), now = span_of(meter, recent, meter->slot_count);
    double rate = before.seconds > 0 ? before.count / before.seconds : 0, step = before.seconds / before.batches;
    double variance = before.variance + prior(rate, step) / (before.seconds + PRIOR_BATCHES * step);
    double off = now.count - rate * now.seconds, usual = variance * now.seconds * (1 + now.seconds / before.seconds);
    if (off * off > CHANGE_DEVIATIONS * CHANGE_DEVIATIONS * usual) {
        slots_drop(meter, recent - 1);
        meter->slot_ms = PACE_SLOT_MS;
    }
}

/* ---- departures ---- */

/* Who is near the front has people behind for whom each departure there counts; one at the tail counts for nobody. So a
 * departure weighs what part of the line was behind it, and half of the line's time is what it is compared with. */
static double departures_weighed(const struct admission *admission)
{
    double sum = 0, span = (double)(admission->tail - admission->head);
    for (size_t i = 0; i < admission->departed_count; i++) {
        uint64_t ticket = admission->departed[i];
        double behind = ticket < admission->tail && span > 0 ? (double)(admission->tail - ticket) / span : 0;
        sum += behind < 1 ? behind : 1;
    }
    return sum;
}

static void departures_observe(struct pace_meter *meter, double seconds, const struct admission *admission)
{
    if (admission->departed_many || admission->closing[0] || admission->tail < admission->head)
        return;
    double keep = exp(-seconds / LEAVING_FADE_S);
    meter->left = meter->left * keep + departures_weighed(admission);
    meter->stayed_s = meter->stayed_s * keep + (double)meter->waiting / 2 * seconds;
}

/* ---- both ---- */

void pace_observe(struct pace_meter *meter, uint64_t now_ms, const struct admission *admission)
{
    bool open = strcmp(admission->status, "open") == 0 && strcmp(admission->phase, "open") == 0;
    if (!meter->busy) { /* what came straight in says nothing about the pace: measuring begins behind it */
        meter->slots[meter->slot_count - 1].end_ms = meter->batch_ms = meter->busy_ms;
    } else {
        meter->busy_ms += now_ms - meter->seen_ms;
        departures_observe(meter, (double)(now_ms - meter->seen_ms) / 1000, admission);
        if (admission->admitted_now > 0)
            batch_take(meter, admission->admitted_now);
        slots_forget(meter);
    }
    meter->busy = open && admission->waiting > 0;
    meter->waiting = admission->waiting;
    meter->seen_ms = now_ms;
}

struct pace pace_value(const struct pace_meter *meter)
{
    struct span span;
    if (meter->slot_count < 2 || (span = span_of(meter, 1, meter->slot_count)).seconds <= 0)
        return (struct pace){.rate = 0};
    double step = span.seconds / span.batches;
    double quiet = (double)(meter->busy_ms - meter->slots[meter->slot_count - 1].end_ms) / 1000;
    double slots = (double)(meter->slot_count - 1), usual = 2 * span.seconds / slots;
    if (quiet > usual) /* a longer silence than this slows the rate down */
        span.seconds += quiet - usual;
    struct pace pace = {.rate = span.count / span.seconds, .step = step};
    double off = pace.rate * (quiet > usual ? quiet - usual : 0); /* and is as unsteady as a slot that stayed empty */
    double variance = span.variance * span.seconds + off * off + prior(pace.rate, step);
    pace.noise = variance / (pace.rate * pace.rate) / (span.seconds + PRIOR_BATCHES * step);
    pace.drift = sqrt(DRIFT_MIN * DRIFT_MIN + pace.noise / span.seconds);
    if (meter->stayed_s > 0)
        pace.leaving = meter->left / meter->stayed_s;
    return pace;
}

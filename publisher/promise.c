#include "publisher/promise.h"

#include <math.h>

#define TOLD_MIN_S 1.0 /* less is within a tick */

static void promise_end(struct promise *promise, uint64_t busy_ms)
{
    double actual_s = (double)(busy_ms - promise->made_ms) / 1000;
    double error = fabs(actual_s - promise->told_s) / promise->told_s;
    promise->error += (error - promise->error) / (promise->kept ? PROMISE_SMOOTHING : 1);
    promise->kept++;
    promise->ticket = 0;
}

void promise_observe(struct promise *promise, const struct pace *pace, uint64_t busy_ms,
                     const struct admission *admission)
{
    struct eta eta;
    bool joined = admission->rev.epoch == promise->epoch && admission->tail > promise->tail;
    if (promise->epoch != admission->rev.epoch)
        promise->ticket = 0; /* another line */
    if (promise->ticket && admission->head >= promise->ticket)
        promise_end(promise, busy_ms);
    else if (admission->base >= promise->ticket)
        promise->ticket = 0; /* everybody left before anybody behind it was admitted */
    promise->epoch = admission->rev.epoch;
    promise->tail = admission->tail;
    if (promise->ticket || !joined || admission->waiting == 0 || !eta_of(pace, admission->waiting, &eta) ||
        (double)eta.seconds < TOLD_MIN_S)
        return;
    promise->ticket = admission->tail;
    promise->made_ms = busy_ms;
    promise->told_s = (double)eta.seconds;
}

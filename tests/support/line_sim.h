/** A line in simulated time, told to the publisher's own pace module tick by tick as the publisher is told: people come
 * and leave, a pace lets them in, and samples compare what somebody was promised with how long it took. */
#ifndef ANTEROOM_TESTS_LINE_SIM_H
#define ANTEROOM_TESTS_LINE_SIM_H

#include "publisher/pace.h"

enum sim_policy {
    SIM_STEADY,   /* 10 every 5 s */
    SIM_ADAPTIVE, /* every 5 s, fewer the higher the site's load is; the load follows who is inside, and has a life of
                     its own */
    SIM_BURSTY,   /* batches of 1 to 40 at random moments, and pauses of 5 to 60 s of the site's own making */
};

struct sim_settings {
    enum sim_policy policy;
    bool burst;        /* arrivals: a crowd at the start and again every 10 minutes, not a steady trickle */
    double patience_s; /* mean time after which the fifth of all people that gives up does so */
    double duration_s; /* samples are taken for so long */
    uint64_t seed;
};

struct sim_result {
    unsigned samples, inside; /* inside: the true wait was within [low, high] */
    double width;             /* mean of (high - low) / wait, for waits of 30 s and more */
    double ratio;             /* median of high / low, the same */
    double error;             /* mean of |promised - wait| / wait, the same */
};

void sim_run(const struct sim_settings *settings, struct sim_result *result);

#endif

/** How long somebody waits, from how the line was seen to move. Pure; both daemons use it.
 *
 *  The middle: of the n people ahead r are admitted a second, and each of them leaves with hazard l (the visitor asked
 *  about does not), so dn/dt = -r - l n and n reaches 0 after ln(1 + l n / r) / l seconds; then comes the visitor's own
 *  admission, 1 / r later. (An Erlang-A line seen as a fluid: W. Whitt, "Fluid models for multiserver queues with
 *  abandonments", 2006.) Without departures that is position / r.
 *
 *  The range: what was admitted after t seconds differs from r t by a normal error of variance r^2 (noise t + drift^2
 *  t^2). When such a process first passes a level has an inverse Gaussian law (J. L. Folks and R. S. Chhikara, 1978),
 *  whose ends solve t -/+ z sqrt(noise t) = middle. Batches add a step at either end. */
#ifndef ANTEROOM_LINE_ETA_H
#define ANTEROOM_LINE_ETA_H

#include <stdbool.h>
#include <stdint.h>

/** How a line moves, as measured. Zeros: unknown. */
struct pace {
    double rate;    /* admissions a second */
    double leaving; /* departures a second of each person ahead */
    double noise;   /* variance of the admitted a second, in units of rate squared: seconds */
    double drift;   /* relative error of the rate over a long time; 0: not told, ETA_DRIFT_UNTOLD is taken */
    double step;    /* seconds between two batches */
};

/** Of a publisher that tells only its rate. */
#define ETA_DRIFT_UNTOLD 0.3
/** Ends of the range in standard deviations: four of five lie between, where the errors are normal. */
#define ETA_DEVIATIONS 1.3

/** Whole seconds: the wait rounded up, the range outwards. */
struct eta {
    int64_t seconds, low, high;
};

/** False: unknown (no rate, or beyond 30 years); *ETA is then zero. POSITION: 1 = next. Numbers of PACE that make no
 * sense count as unknown. */
bool eta_of(const struct pace *pace, uint64_t position, struct eta *eta);

#endif

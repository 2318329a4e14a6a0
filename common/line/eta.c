#include "common/line/eta.h"

#include <math.h>

#define SECONDS_MAX 1e9

static double sane(double value)
{
    return value > 0 && value < SECONDS_MAX ? value : 0;
}

/* When the n people ahead are gone. */
static double passed_s(double ahead, double rate, double leaving)
{
    double ratio = leaving * ahead / rate;
    return ratio > 1e-9 ? log1p(ratio) / leaving : ahead / rate;
}

/* The t > 0 of t = middle + sign z sqrt(noise t). */
static double edge_s(double middle, double noise, double sign)
{
    double spread = ETA_DEVIATIONS * sqrt(noise), root = (sign * spread + sqrt(spread * spread + 4 * middle)) / 2;
    return root * root;
}

bool eta_of(const struct pace *pace, uint64_t position, struct eta *eta)
{
    double rate = sane(pace->rate), leaving = sane(pace->leaving), noise = sane(pace->noise), step = sane(pace->step);
    double drift = ETA_DEVIATIONS * (sane(pace->drift) > 0 ? pace->drift : ETA_DRIFT_UNTOLD);
    double ahead = position > 0 ? (double)(position - 1) : 0;
    *eta = (struct eta){0, 0, 0};
    if (rate == 0)
        return false;
    double middle = passed_s(ahead, rate, leaving) + 1 / rate;
    /* Who leaves does so soon; those who stay for long stay to the end. So the late end has half of the departures. */
    double late = (middle + (ahead + 1) / rate) / 2;
    double low = edge_s(middle / (1 + drift), noise, -1) - step, high = edge_s(late * (1 + drift), noise, 1) + step;
    if (!(high < SECONDS_MAX))
        return false;
    *eta = (struct eta){(int64_t)ceil(middle), low > 0 ? (int64_t)floor(low) : 0, (int64_t)ceil(high)};
    return true;
}

/** Prometheus metrics from one table per program: counters, gauges and histograms with up to three labels. Text format
 * 0.0.4. */
#ifndef ANTEROOM_BASE_METRICS_H
#define ANTEROOM_BASE_METRICS_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stddef.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_LABELS_MAX 3

struct metric_def {
    const char *name, *help;
    enum metric_type type;
    const char *labels[METRIC_LABELS_MAX]; /* names; NULL from the first unused on */
};

struct metrics;
/** One set of label values of one metric. Stays where it is until metrics_drop or the end: callers may keep it. */
struct metric_series;

/** DEFS is static; its index is the metric's number. SERIES_MAX bounds label combinations in all: past it a new one is
 *  counted into a series nobody sees. */
MUST_CHECK enum err metrics_create(struct metrics **out, const struct metric_def *defs, size_t count,
                                   size_t series_max);
void metrics_destroy(struct metrics *metrics);

/** The series for these label values (NULL for unused ones; copied). Never NULL. */
struct metric_series *metrics_series(struct metrics *metrics, size_t metric, const char *a, const char *b,
                                     const char *c);
void metric_add(struct metric_series *series, double by);
void metric_set(struct metric_series *series, double value);
/** A histogram's observation, in the metric's unit (seconds). Buckets: 100 µs to 100 s, three a decade. */
void metric_observe(struct metric_series *series, double value);
double metric_value(const struct metric_series *series);
/** Forgets every series whose first label is "session" and has this value (a session that was deleted). Kept pointers
 * to them die. */
void metrics_drop(struct metrics *metrics, const char *session);

/** Shorthand for the three above without a kept series. */
void metrics_add(struct metrics *metrics, size_t metric, double by, const char *a, const char *b, const char *c);
void metrics_set(struct metrics *metrics, size_t metric, double value, const char *a, const char *b, const char *c);
void metrics_observe(struct metrics *metrics, size_t metric, double value, const char *a, const char *b, const char *c);

/** All of it as text. ERR_NOMEM, ERR_TOO_BIG. */
MUST_CHECK enum err metrics_render(const struct metrics *metrics, struct buf *out);

#endif

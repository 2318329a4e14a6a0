#include "common/base/metrics.h"

#include "common/base/check.h"
#include "common/base/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const double bounds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                0.1,    0.25,    0.5,    1,     2.5,    5,     10,   25,    100};
#define BOUND_COUNT (sizeof bounds / sizeof bounds[0])
#define KEY_MAX 256

struct metric_series {
    struct map_node node;
    struct list link;    /* in its metric's list */
    struct list sibling; /* among those of its session, where the first label is one */
    double value;        /* counter, gauge; a histogram's sum */
    uint64_t *buckets;   /* BOUND_COUNT + 1, histograms only; not cumulative */
    uint64_t count;
    size_t key_len;
    char labels[METRIC_LABELS_MAX][80];
    char key[KEY_MAX];
};

/* A session's series, so that dropping one of ten thousand sessions does not look at all the others' series. */
struct metric_group {
    struct map_node node;
    struct list series;
    char session[80];
};

struct metrics {
    const struct metric_def *defs;
    size_t count, series_max;
    struct map series, groups;
    struct list *by_metric;
    struct metric_series overflow; /* never rendered */
    uint64_t overflow_buckets[BOUND_COUNT + 1];
};

static struct text series_key(const struct map_node *node)
{
    const struct metric_series *series = CONTAINER_OF(node, const struct metric_series, node);
    return (struct text){series->key, series->key_len};
}

static struct text group_key(const struct map_node *node)
{
    return text_of(CONTAINER_OF(node, const struct metric_group, node)->session);
}

enum err metrics_create(struct metrics **out, const struct metric_def *defs, size_t count, size_t series_max)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    struct list *heads = calloc(count, sizeof *heads);
    if (!metrics || !heads) {
        free(metrics);
        free(heads);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++)
        list_init(&heads[i]);
    *metrics = (struct metrics){.defs = defs, .count = count, .series_max = series_max, .by_metric = heads};
    metrics->overflow.buckets = metrics->overflow_buckets;
    map_init(&metrics->series, series_key);
    map_init(&metrics->groups, group_key);
    for (size_t i = 0; i < count; i++) /* what has no labels is there from the start, at 0 */
        if (!defs[i].labels[0])
            metrics_series(metrics, i, NULL, NULL, NULL);
    *out = metrics;
    return OK;
}

static void series_free(struct metrics *metrics, struct metric_series *series)
{
    map_remove(&metrics->series, &series->node);
    list_remove(&series->link);
    list_remove(&series->sibling);
    free(series->buckets);
    free(series);
}

void metrics_destroy(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->count; i++)
        while (!list_empty(&metrics->by_metric[i]))
            series_free(metrics, CONTAINER_OF(list_first(&metrics->by_metric[i]), struct metric_series, link));
    MAP_EACH(&metrics->groups, node, next, cursor)
    free(CONTAINER_OF(node, struct metric_group, node));
    map_finish(&metrics->series);
    map_finish(&metrics->groups);
    free(metrics->by_metric);
    free(metrics);
}

/* A session may be called like a command or an event: only a label of this name makes one. */
static bool is_of_session(const struct metric_def *def)
{
    return def->labels[0] && strcmp(def->labels[0], "session") == 0;
}

/* Found or made; NULL without memory. */
static struct metric_group *group_get(struct metrics *metrics, const char *session)
{
    struct map_node *node = map_find(&metrics->groups, text_of(session));
    if (node)
        return CONTAINER_OF(node, struct metric_group, node);
    struct metric_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    list_init(&group->series);
    snprintf(group->session, sizeof group->session, "%s", session);
    if (map_insert(&metrics->groups, &group->node) == OK)
        return group;
    free(group);
    return NULL;
}

struct metric_series *metrics_series(struct metrics *metrics, size_t metric, const char *a, const char *b,
                                     const char *c)
{
    CHECK(metric < metrics->count);
    const char *values[METRIC_LABELS_MAX] = {a ? a : "", b ? b : "", c ? c : ""};
    char key[KEY_MAX];
    int len = snprintf(key, sizeof key, "%zu\t%s\t%s\t%s", metric, values[0], values[1], values[2]);
    size_t key_len = len < KEY_MAX ? (size_t)len : KEY_MAX - 1;
    struct map_node *node = map_find(&metrics->series, (struct text){key, key_len});
    if (node)
        return CONTAINER_OF(node, struct metric_series, node);
    bool histogram = metrics->defs[metric].type == METRIC_HISTOGRAM;
    struct metric_series *series = metrics->series.len < metrics->series_max ? calloc(1, sizeof *series) : NULL;
    bool grouped = is_of_session(&metrics->defs[metric]);
    if (series && histogram)
        series->buckets = calloc(BOUND_COUNT + 1, sizeof *series->buckets);
    struct metric_group *group = series && grouped ? group_get(metrics, values[0]) : NULL;
    if (!series || (histogram && !series->buckets) || (grouped && !group)) {
        if (series)
            free(series->buckets);
        free(series);
        return &metrics->overflow;
    }
    list_init(&series->sibling);
    memcpy(series->key, key, key_len);
    series->key_len = key_len;
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
        snprintf(series->labels[i], sizeof series->labels[i], "%s", values[i]);
    if (map_insert(&metrics->series, &series->node) != OK) {
        free(series->buckets);
        free(series);
        return &metrics->overflow;
    }
    list_append(&metrics->by_metric[metric], &series->link);
    if (group)
        list_append(&group->series, &series->sibling);
    return series;
}

void metric_add(struct metric_series *series, double by)
{
    series->value += by;
}

void metric_set(struct metric_series *series, double value)
{
    series->value = value;
}

void metric_observe(struct metric_series *series, double value)
{
    size_t i = 0;
    while (i < BOUND_COUNT && value > bounds[i])
        i++;
    series->buckets[i]++;
    series->count++;
    series->value += value;
}

double metric_value(const struct metric_series *series)
{
    return series->value;
}

void metrics_drop(struct metrics *metrics, const char *session)
{
    struct map_node *node = map_find(&metrics->groups, text_of(session));
    if (!node)
        return;
    struct metric_group *group = CONTAINER_OF(node, struct metric_group, node);
    while (!list_empty(&group->series))
        series_free(metrics, CONTAINER_OF(list_first(&group->series), struct metric_series, sibling));
    map_remove(&metrics->groups, node);
    free(group);
}

void metrics_add(struct metrics *metrics, size_t metric, double by, const char *a, const char *b, const char *c)
{
    metric_add(metrics_series(metrics, metric, a, b, c), by);
}

void metrics_set(struct metrics *metrics, size_t metric, double value, const char *a, const char *b, const char *c)
{
    metric_set(metrics_series(metrics, metric, a, b, c), value);
}

void metrics_observe(struct metrics *metrics, size_t metric, double value, const char *a, const char *b, const char *c)
{
    metric_observe(metrics_series(metrics, metric, a, b, c), value);
}

/* {a="x",b="y",le="0.1"} or nothing. */
static enum err render_labels(const struct metric_def *def, const struct metric_series *series, const char *le,
                              struct buf *out)
{
    bool any = false;
    enum err err = OK;
    for (size_t i = 0; i < METRIC_LABELS_MAX && def->labels[i] && err == OK; i++, any = true) {
        err = buf_format(out, "%c%s=\"", any ? ',' : '{', def->labels[i]);
        if (err == OK)
            err = buf_json(out, text_of(series->labels[i]));
        if (err == OK)
            err = buf_text(out, TEXT("\""));
    }
    if (err == OK && le) {
        err = buf_format(out, "%cle=\"%s\"", any ? ',' : '{', le);
        any = true;
    }
    return err == OK && any ? buf_text(out, TEXT("}")) : err;
}

static enum err render_line(const struct metric_def *def, const struct metric_series *series, const char *suffix,
                            const char *le, double value, struct buf *out)
{
    enum err err = buf_format(out, "%s%s", def->name, suffix);
    if (err == OK)
        err = render_labels(def, series, le, out);
    return err == OK ? buf_format(out, " %.17g\n", value) : err;
}

static enum err render_histogram(const struct metric_def *def, const struct metric_series *series, struct buf *out)
{
    uint64_t below = 0;
    enum err err = OK;
    char le[24];
    for (size_t i = 0; i < BOUND_COUNT && err == OK; i++) {
        below += series->buckets[i];
        snprintf(le, sizeof le, "%g", bounds[i]);
        err = render_line(def, series, "_bucket", le, (double)below, out);
    }
    if (err == OK)
        err = render_line(def, series, "_bucket", "+Inf", (double)series->count, out);
    if (err == OK)
        err = render_line(def, series, "_sum", NULL, series->value, out);
    return err == OK ? render_line(def, series, "_count", NULL, (double)series->count, out) : err;
}

enum err metrics_render(const struct metrics *metrics, struct buf *out)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    enum err err = OK;
    for (size_t i = 0; i < metrics->count && err == OK; i++) {
        const struct metric_def *def = &metrics->defs[i];
        if (list_empty(&metrics->by_metric[i]))
            continue;
        err = buf_format(out, "# HELP %s %s\n# TYPE %s %s\n", def->name, def->help, def->name, types[def->type]);
        for (struct list *at = metrics->by_metric[i].next; at != &metrics->by_metric[i] && err == OK; at = at->next) {
            const struct metric_series *series = CONTAINER_OF(at, const struct metric_series, link);
            err = def->type == METRIC_HISTOGRAM ? render_histogram(def, series, out)
                                                : render_line(def, series, "", NULL, series->value, out);
        }
    }
    return err;
}

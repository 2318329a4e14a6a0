#include "common/base/metrics.h"
#include "tests/support/unit.h"

#include <stdio.h>

enum { HITS, LEVEL, SPAN, PLAIN };
static const struct metric_def defs[] = {
    [HITS] = {"hits_total", "Hits.", METRIC_COUNTER, {"route", "code"}},
    [LEVEL] = {"level", "Level.", METRIC_GAUGE, {"session"}},
    [SPAN] = {"span_seconds", "Span.", METRIC_HISTOGRAM, {NULL}},
    [PLAIN] = {"plain", "Plain.", METRIC_GAUGE, {NULL}},
};

static void render(struct metrics *metrics, char *dst, size_t size)
{
    struct buf out;
    buf_init(&out, 65536);
    assert_int_equal(metrics_render(metrics, &out), OK);
    assert_int_equal(text_copy(dst, size, buf_view(&out)), OK);
    buf_finish(&out);
}

static void series_are_rendered_with_their_labels_escaped(void **state)
{
    (void)state;
    struct metrics *metrics;
    char text[8192];
    assert_int_equal(metrics_create(&metrics, defs, ROWS(defs), 100), OK);
    metrics_add(metrics, HITS, 2, "a\"b", "200", NULL);
    metrics_add(metrics, HITS, 1, "a\"b", "200", NULL);
    metrics_set(metrics, LEVEL, 7.5, "s", NULL, NULL);
    metrics_observe(metrics, SPAN, 0.0003, NULL, NULL, NULL);
    metrics_observe(metrics, SPAN, 1000, NULL, NULL, NULL);
    render(metrics, text, sizeof text);
    assert_non_null(strstr(text, "# TYPE hits_total counter\nhits_total{route=\"a\\\"b\",code=\"200\"} 3\n"));
    assert_non_null(strstr(text, "level{session=\"s\"} 7.5\n"));
    assert_non_null(strstr(text, "span_seconds_bucket{le=\"0.00025\"} 0\n"));
    assert_non_null(strstr(text, "span_seconds_bucket{le=\"0.0005\"} 1\n"));
    assert_non_null(strstr(text, "span_seconds_bucket{le=\"100\"} 1\nspan_seconds_bucket{le=\"+Inf\"} 2\n"));
    assert_non_null(strstr(text, "span_seconds_count 2\n"));
    assert_non_null(strstr(text, "plain 0\n"));
    metrics_drop(metrics, "s");
    render(metrics, text, sizeof text);
    assert_null(strstr(text, "level{"));
    metrics_destroy(metrics);
}

static void label_combinations_are_bounded(void **state)
{
    (void)state;
    struct metrics *metrics;
    char text[8192], label[16];
    assert_int_equal(metrics_create(&metrics, defs, ROWS(defs), 5), OK); /* two are taken by the plain ones */
    for (int i = 0; i < 50; i++) {
        snprintf(label, sizeof label, "s%d", i);
        metrics_set(metrics, LEVEL, i, label, NULL, NULL);
    }
    render(metrics, text, sizeof text);
    assert_non_null(strstr(text, "level{session=\"s2\"} 2\n"));
    assert_null(strstr(text, "s3"));
    metrics_destroy(metrics);
}

static void a_dropped_session_takes_its_own_series_and_no_others(void **state)
{
    (void)state;
    struct metrics *metrics;
    char text[8192];
    assert_int_equal(metrics_create(&metrics, defs, ROWS(defs), 100), OK);
    metrics_set(metrics, LEVEL, 1, "s", NULL, NULL);
    metrics_set(metrics, LEVEL, 2, "t", NULL, NULL);
    metrics_add(metrics, HITS, 3, "s", "200", NULL); /* a route of the same name */
    metrics_drop(metrics, "s");
    metrics_drop(metrics, "s");
    metrics_drop(metrics, "nobody");
    render(metrics, text, sizeof text);
    assert_null(strstr(text, "level{session=\"s\"}"));
    assert_non_null(strstr(text, "level{session=\"t\"} 2\n"));
    assert_non_null(strstr(text, "hits_total{route=\"s\",code=\"200\"} 3\n"));
    metrics_set(metrics, LEVEL, 4, "s", NULL, NULL);
    render(metrics, text, sizeof text);
    assert_non_null(strstr(text, "level{session=\"s\"} 4\n"));
    metrics_destroy(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_are_rendered_with_their_labels_escaped),
        cmocka_unit_test(label_combinations_are_bounded),
        cmocka_unit_test(a_dropped_session_takes_its_own_series_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

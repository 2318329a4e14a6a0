#include "tests/load/summary.h"

#include <stdlib.h>

void latency_add(struct latencies *latencies, double ms)
{
    if (latencies->count == latencies->cap) {
        size_t cap = latencies->cap ? latencies->cap * 2 : 1024;
        double *grown = realloc(latencies->ms, cap * sizeof *grown);
        if (!grown)
            return;
        latencies->ms = grown;
        latencies->cap = cap;
    }
    latencies->ms[latencies->count++] = ms;
}

void summary_refused(struct summary *summary, struct text code)
{
    for (size_t i = 0; i < REFUSAL_KINDS; i++) {
        if (summary->refused[i].count == 0 &&
            text_copy(summary->refused[i].code, sizeof summary->refused[i].code, code) != OK)
            return;
        if (text_is(code, summary->refused[i].code)) {
            summary->refused[i].count++;
            return;
        }
    }
}

bool summary_broken(const struct summary *summary)
{
    return summary->order_violations + summary->duplicate_entries + summary->position_errors + summary->places_lost > 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double percentile(struct latencies *latencies, double share)
{
    if (latencies->count == 0)
        return 0;
    qsort(latencies->ms, latencies->count, sizeof(double), compare);
    size_t at = (size_t)((double)latencies->count * share);
    return latencies->ms[at < latencies->count ? at : latencies->count - 1];
}

static void print_latency(const char *name, struct latencies *latencies, FILE *out)
{
    fprintf(out, "  %-22s p50 %.1f  p90 %.1f  p99 %.1f  max %.1f ms\n", name, percentile(latencies, 0.5),
            percentile(latencies, 0.9), percentile(latencies, 0.99), percentile(latencies, 1));
}

void summary_print(struct summary *summary, double seconds, FILE *out)
{
    fprintf(out,
            "%zu visitors in %.1f s: %zu joined, %zu admitted, %zu left, %zu closed, %zu still waiting, %zu "
            "reconnects, %zu frames\n",
            summary->visitors, seconds, summary->joined, summary->admitted, summary->left, summary->closed,
            summary->waiting, summary->reconnects, summary->frames);
    for (size_t i = 0; i < REFUSAL_KINDS && summary->refused[i].count; i++)
        fprintf(out, "  refused: %-20s %zu\n", summary->refused[i].code, summary->refused[i].count);
    print_latency("join to first frame", &summary->join, out);
    print_latency("admitted to frame", &summary->entry, out);
    fprintf(out, "  order violations %zu, duplicate entries %zu, position errors %zu, places lost %zu\n",
            summary->order_violations, summary->duplicate_entries, summary->position_errors, summary->places_lost);
}

static void json_latency(const char *name, struct latencies *latencies, FILE *out)
{
    fprintf(out, ",\"%s\":{\"count\":%zu,\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"max\":%.3f}", name, latencies->count,
            percentile(latencies, 0.5), percentile(latencies, 0.9), percentile(latencies, 0.99),
            percentile(latencies, 1));
}

void summary_json(struct summary *summary, double seconds, FILE *out)
{
    fprintf(out,
            "{\"visitors\":%zu,\"seconds\":%.3f,\"joined\":%zu,\"admitted\":%zu,\"left\":%zu,\"closed\":%zu,"
            "\"waiting\":%zu,"
            "\"reconnects\":%zu,\"frames\":%zu,\"orderViolations\":%zu,\"duplicateEntries\":%zu,\"positionErrors\":%zu,"
            "\"placesLost\":%zu,\"refused\":{",
            summary->visitors, seconds, summary->joined, summary->admitted, summary->left, summary->closed,
            summary->waiting, summary->reconnects, summary->frames, summary->order_violations,
            summary->duplicate_entries, summary->position_errors, summary->places_lost);
    for (size_t i = 0; i < REFUSAL_KINDS && summary->refused[i].count; i++)
        fprintf(out, "%s\"%s\":%zu", i ? "," : "", summary->refused[i].code, summary->refused[i].count);
    fprintf(out, "}");
    json_latency("joinMs", &summary->join, out);
    json_latency("entryMs", &summary->entry, out);
    fprintf(out, "}\n");
}

void summary_finish(struct summary *summary)
{
    free(summary->join.ms);
    free(summary->entry.ms);
}

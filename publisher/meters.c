#include "publisher/meters.h"

#include "publisher/announce.h"
#include "publisher/catalog.h"

#include <string.h>

#define SERIES_MAX (20 * CATALOG_MAX)

static const struct metric_def defs[METER_COUNT] = {
    METER_SHARED_ROWS,
    [METER_WAITING] = {"anteroom_session_waiting", "People in the line.", METRIC_GAUGE, {"session"}},
    [METER_LOBBY] = {"anteroom_session_lobby", "People who wait for the draw.", METRIC_GAUGE, {"session"}},
    [METER_PARKED] = {"anteroom_session_parked",
                      "People in the line whose connection is gone.",
                      METRIC_GAUGE,
                      {"session"}},
    [METER_ACTIVE] = {"anteroom_session_active",
                      "People inside: entry given, not expired or released.",
                      METRIC_GAUGE,
                      {"session"}},
    [METER_STOCK_LEFT] = {"anteroom_session_stock_left",
                          "Admissions left where a stock is set.",
                          METRIC_GAUGE,
                          {"session"}},
    [METER_ETA] = {"anteroom_session_eta_seconds",
                   "Wait of the last in line as it is told to visitors; 0 while it is unknown.",
                   METRIC_GAUGE,
                   {"session"}},
    [METER_ETA_ERROR] = {"anteroom_eta_error_ratio",
                         "How wrong the ETA given at the join was for those admitted now: |actual - told| / told, "
                         "of one sampled ticket at a time, smoothed over the last few.",
                         METRIC_GAUGE,
                         {"session"}},
    [METER_ADMITTED] = {"anteroom_session_admitted_total",
                        "Admissions by this publisher.",
                        METRIC_COUNTER,
                        {"session", "kind"}},
    [METER_DEPARTED] = {"anteroom_session_departed_total",
                        "People who left the line without being admitted.",
                        METRIC_COUNTER,
                        {"session", "reason"}},
    [METER_HELD] = {"anteroom_session_held",
                    "1 while people wait and nobody is admitted for this reason.",
                    METRIC_GAUGE,
                    {"session", "reason"}},
    [METER_OWNER] = {"anteroom_session_owner", "1 while this publisher owns the session.", METRIC_GAUGE, {"session"}},
    [METER_TICK_DURATION] = {"anteroom_tick_duration_seconds",
                             "From the admit call to the last confirmation of a tick.",
                             METRIC_HISTOGRAM,
                             {NULL}},
    [METER_TICK_LATE] = {"anteroom_tick_late_seconds",
                         "How much later than planned a tick began.",
                         METRIC_HISTOGRAM,
                         {NULL}},
    [METER_LOAD_TPS] = {"anteroom_load_tps", "Load the site last reported under this key.", METRIC_GAUGE, {"key"}},
    [METER_LOAD_AGE] = {"anteroom_load_age_seconds",
                        "How long the key has had no value; 0 while it has one.",
                        METRIC_GAUGE,
                        {"key"}},
    [METER_SERVERS] = {"anteroom_servers", "Gateways with a live heartbeat.", METRIC_GAUGE, {NULL}},
    [METER_REDIS_MEMORY] = {"anteroom_redis_memory_bytes", "Memory Redis uses.", METRIC_GAUGE, {NULL}},
    [METER_REDIS_MEMORY_MAX] = {"anteroom_redis_memory_max_bytes",
                                "Memory Redis may use; 0 = no limit.",
                                METRIC_GAUGE,
                                {NULL}},
};

static const char *const held_reasons[] = {"paused",       "load-missing", "load-high",
                                           "active-limit", "sold-out",     "not-started"};

enum err publisher_meters_create(struct metrics **metrics)
{
    return metrics_create(metrics, defs, METER_COUNT, SERIES_MAX);
}

static void count(struct metrics *metrics, enum publisher_meter meter, uint64_t by, const char *session,
                  const char *label)
{
    metrics_add(metrics, meter, (double)by, session, label, NULL);
}

static void gauge(struct metrics *metrics, enum publisher_meter meter, double value, const char *session)
{
    metrics_set(metrics, meter, value, session, NULL, NULL);
}

void publisher_meters_session(struct metrics *metrics, const char *session, const struct admission *admission,
                              const struct pace *pace)
{
    struct eta eta;
    uint64_t actual =
        admission->admitted_now > admission->virtual_now ? admission->admitted_now - admission->virtual_now : 0;
    gauge(metrics, METER_OWNER, 1, session);
    gauge(metrics, METER_WAITING, (double)admission->waiting, session);
    gauge(metrics, METER_LOBBY, (double)admission->lobby, session);
    gauge(metrics, METER_PARKED, (double)admission->parked, session);
    gauge(metrics, METER_ACTIVE, (double)admission->active, session);
    bool told =
        admission->waiting > 0 && strcmp(admission->status, "paused") != 0 && eta_of(pace, admission->waiting, &eta);
    gauge(metrics, METER_ETA, told ? (double)eta.seconds : 0, session);
    if (admission->stock_left >= 0)
        gauge(metrics, METER_STOCK_LEFT, (double)admission->stock_left, session);
    count(metrics, METER_ADMITTED, actual, session, "actual");
    count(metrics, METER_ADMITTED, admission->virtual_now, session, "virtual");
    count(metrics, METER_DEPARTED, admission->expired, session, "expired");
    count(metrics, METER_DEPARTED, announce_left(admission), session,
          admission->closing[0] ? admission->closing : "left");
    for (size_t i = 0; i < sizeof held_reasons / sizeof held_reasons[0]; i++)
        metrics_set(metrics, METER_HELD, strcmp(admission->held, held_reasons[i]) == 0, session, held_reasons[i], NULL);
}

void publisher_meters_promise(struct metrics *metrics, const char *session, const struct promise *promise)
{
    if (promise->kept > 0)
        gauge(metrics, METER_ETA_ERROR, promise->error, session);
}

void publisher_meters_fenced(struct metrics *metrics, const char *session)
{
    metrics_drop(metrics, session);
    gauge(metrics, METER_OWNER, 0, session);
}

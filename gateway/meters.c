#include "gateway/meters.h"

/* One row a metric; see docs/operations.md. No label holds a user, a place, an address or an unknown session id. */
static const struct metric_def defs[METER_COUNT] = {
    METER_SHARED_ROWS,
    [METER_CONNECTIONS] = {"anteroom_connections", "Open event streams.", METRIC_GAUGE, {"session"}},
    [METER_CONNECTIONS_MAX] = {"anteroom_connections_max",
                               "Most connections this process takes.",
                               METRIC_GAUGE,
                               {NULL}},
    [METER_CONNECTIONS_CLOSED] = {"anteroom_connections_closed_total",
                                  "Event streams that ended, by reason.",
                                  METRIC_COUNTER,
                                  {"reason"}},
    [METER_HTTP_REQUESTS] = {"anteroom_http_requests_total",
                             "Requests by route, method and status.",
                             METRIC_COUNTER,
                             {"route", "method", "code"}},
    [METER_HTTP_DURATION] = {"anteroom_http_request_duration_seconds",
                             "From a request's first byte to its answer's head.",
                             METRIC_HISTOGRAM,
                             {"route"}},
    [METER_JOINS] = {"anteroom_joins_total", "Joins and resumes by result.", METRIC_COUNTER, {"result"}},
    [METER_REFUSALS] = {"anteroom_refusals_total", "Refused requests by problem code.", METRIC_COUNTER, {"code"}},
    [METER_FRAMES] = {"anteroom_frames_total", "Frames written by event.", METRIC_COUNTER, {"event"}},
    [METER_FRAMES_COALESCED] = {"anteroom_frames_coalesced_total",
                                "State frames put off because a reader was slow.",
                                METRIC_COUNTER,
                                {NULL}},
    [METER_SENT_BYTES] = {"anteroom_sent_bytes_total", "Bytes written to client sockets.", METRIC_COUNTER, {NULL}},
    [METER_ENTRY_DELIVERY] = {"anteroom_entry_delivery_seconds",
                              "From the admission (Redis time) to the entry frame.",
                              METRIC_HISTOGRAM,
                              {NULL}},
    [METER_ENTRIES_SWEPT] = {"anteroom_entries_swept_total",
                             "Entries found by the sweep instead of a message.",
                             METRIC_COUNTER,
                             {NULL}},
    [METER_STREAM_LAG_MESSAGES] = {"anteroom_stream_lag_messages",
                                   "Messages of the own stream not read yet.",
                                   METRIC_GAUGE,
                                   {NULL}},
    [METER_STREAM_LAG_SECONDS] = {"anteroom_stream_lag_seconds", "Age of the last message read.", METRIC_GAUGE, {NULL}},
    [METER_MESSAGES_BAD] = {"anteroom_messages_bad_total", "Messages that made no sense.", METRIC_COUNTER, {NULL}},
    [METER_DRAINING] = {"anteroom_draining", "1 while draining.", METRIC_GAUGE, {NULL}},
};

enum err meters_create(struct metrics **metrics, struct meters *meters)
{
    enum err err = metrics_create(metrics, defs, METER_COUNT, 20000);
    if (err != OK)
        return err;
    *meters = (struct meters){
        .frames_state = metrics_series(*metrics, METER_FRAMES, "waiting-state", NULL, NULL),
        .frames_coalesced = metrics_series(*metrics, METER_FRAMES_COALESCED, NULL, NULL, NULL),
        .entry_delivery = metrics_series(*metrics, METER_ENTRY_DELIVERY, NULL, NULL, NULL),
        .entries_swept = metrics_series(*metrics, METER_ENTRIES_SWEPT, NULL, NULL, NULL),
        .draining = metrics_series(*metrics, METER_DRAINING, NULL, NULL, NULL),
        .clock_difference = metrics_series(*metrics, METER_CLOCK_DIFFERENCE, NULL, NULL, NULL),
        .stream_lag_seconds = metrics_series(*metrics, METER_STREAM_LAG_SECONDS, NULL, NULL, NULL),
    };
    return OK;
}

/** The gateway's metrics: one table, and the series that hot paths keep. */
#ifndef ANTEROOM_GATEWAY_METERS_H
#define ANTEROOM_GATEWAY_METERS_H

#include "common/base/meter_shared.h"

enum meter {
    METER_CONNECTIONS = METER_SHARED,
    METER_CONNECTIONS_MAX,
    METER_CONNECTIONS_CLOSED,
    METER_HTTP_REQUESTS,
    METER_HTTP_DURATION,
    METER_JOINS,
    METER_REFUSALS,
    METER_FRAMES,
    METER_FRAMES_COALESCED,
    METER_SENT_BYTES,
    METER_ENTRY_DELIVERY,
    METER_ENTRIES_SWEPT,
    METER_STREAM_LAG_MESSAGES,
    METER_STREAM_LAG_SECONDS,
    METER_MESSAGES_BAD,
    METER_DRAINING,
    METER_COUNT,
};

struct meters {
    struct metric_series *frames_state, *frames_coalesced, *entry_delivery, *entries_swept, *draining,
        *clock_difference, *stream_lag_seconds;
};

MUST_CHECK enum err meters_create(struct metrics **metrics, struct meters *meters);

#endif

/** The metrics both daemons have: their numbers come first in each program's table. */
#ifndef ANTEROOM_BASE_METER_SHARED_H
#define ANTEROOM_BASE_METER_SHARED_H

#include "common/base/metrics.h"

enum meter_shared {
    METER_BUILD_INFO,
    METER_CPU_SECONDS,
    METER_RESIDENT_BYTES,
    METER_OPEN_FDS,
    METER_MAX_FDS,
    METER_START_TIME,
    METER_REDIS_UP,
    METER_REDIS_COMMANDS,
    METER_REDIS_DURATION,
    METER_LOOP_LAG,
    METER_CLOCK_DIFFERENCE,
    METER_LOG_LOST,
    METER_SHARED, /* where a program's own begin */
};

#define METER_SHARED_ROWS                                                                                             \
    [METER_BUILD_INFO] = {"anteroom_build_info",                                                                      \
                          "1, with the program and its version.",                                                     \
                          METRIC_GAUGE,                                                                               \
                          {"program", "version", "commit"}},                                                          \
    [METER_CPU_SECONDS] = {"process_cpu_seconds_total",                                                               \
                           "User and system CPU time in seconds.",                                                    \
                           METRIC_COUNTER,                                                                            \
                           {NULL}},                                                                                   \
    [METER_RESIDENT_BYTES] = {"process_resident_memory_bytes", "Resident memory in bytes.", METRIC_GAUGE, {NULL}},    \
    [METER_OPEN_FDS] = {"process_open_fds", "Open file descriptors.", METRIC_GAUGE, {NULL}},                          \
    [METER_MAX_FDS] = {"process_max_fds", "Limit of open file descriptors.", METRIC_GAUGE, {NULL}},                   \
    [METER_START_TIME] = {"process_start_time_seconds",                                                               \
                          "Start of the process, Unix time in seconds.",                                              \
                          METRIC_GAUGE,                                                                               \
                          {NULL}},                                                                                    \
    [METER_REDIS_UP] = {"anteroom_redis_up", "1 while the command connection to Redis is up.", METRIC_GAUGE, {NULL}}, \
    [METER_REDIS_COMMANDS] = {"anteroom_redis_commands_total",                                                        \
                              "Calls to Redis by command or script and result.",                                      \
                              METRIC_COUNTER,                                                                         \
                              {"command", "result"}},                                                                 \
    [METER_REDIS_DURATION] = {"anteroom_redis_command_duration_seconds",                                              \
                              "Time from a call to its answer.",                                                      \
                              METRIC_HISTOGRAM,                                                                       \
                              {"connection"}},                                                                        \
    [METER_LOOP_LAG] = {"anteroom_event_loop_lag_seconds",                                                            \
                        "How late a timer of the event loop fired.",                                                  \
                        METRIC_HISTOGRAM,                                                                             \
                        {NULL}},                                                                                      \
    [METER_CLOCK_DIFFERENCE] = {"anteroom_clock_difference_seconds",                                                  \
                                "This machine's clock minus Redis' clock.",                                           \
                                METRIC_GAUGE,                                                                         \
                                {NULL}},                                                                              \
    [METER_LOG_LOST] = {                                                                                              \
        "anteroom_log_lines_lost_total", "Log lines that could not be written.", METRIC_COUNTER, {NULL}}

/** Once: the program, its version, when it started. */
void meter_shared_start(struct metrics *metrics, const char *program);
/** Before each rendering: CPU, memory, descriptors. */
void meter_shared_refresh(struct metrics *metrics);

#endif

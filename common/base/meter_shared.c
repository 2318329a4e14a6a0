#include "common/base/meter_shared.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/process.h"
#include "common/base/version.h"

void meter_shared_start(struct metrics *metrics, const char *program)
{
    metrics_set(metrics, METER_BUILD_INFO, 1, program, ANTEROOM_VERSION, ANTEROOM_COMMIT);
    metrics_set(metrics, METER_START_TIME, (double)clock_wall_ms() / 1000, NULL, NULL, NULL);
}

void meter_shared_refresh(struct metrics *metrics)
{
    struct process_figures figures;
    process_read(&figures);
    metrics_set(metrics, METER_CPU_SECONDS, figures.cpu_seconds, NULL, NULL, NULL);
    metrics_set(metrics, METER_RESIDENT_BYTES, (double)figures.resident_bytes, NULL, NULL, NULL);
    metrics_set(metrics, METER_OPEN_FDS, (double)figures.open_fds, NULL, NULL, NULL);
    metrics_set(metrics, METER_MAX_FDS, (double)figures.max_fds, NULL, NULL, NULL);
    metrics_set(metrics, METER_LOG_LOST, (double)log_lost(), NULL, NULL, NULL);
}

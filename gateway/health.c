#include "gateway/health.h"

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/process.h"
#include "common/http/response.h"
#include "gateway/gateway.h"

#include <stdio.h>

#define REDIS_LOST_MS 20000
#define METRICS_BYTES_MAX (32u << 20)

void healthz_handle(struct http_request *request, void *context)
{
    (void)context;
    http_respond(request, &(struct http_response){
                              .status = 200, .type = "application/json", .body = TEXT("{\"status\":\"ok\"}\n")});
}

void readyz_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    const struct membership *membership = &gateway->membership;
    uint64_t now = clock_mono_ms(), last = membership->beat_ms ? membership->beat_ms : membership->started_ms;
    bool up = redis_is_up(gateway->line.redis) && membership->joined;
    const char *reason = "ready";
    if (drain_active(&gateway->drain))
        reason = "draining";
    else if (http_server_connections(gateway->public_server) >= (size_t)gateway->options.connections_max)
        reason = "at the connection cap";
    else if (!membership->beat_ms && !up)
        reason = "not connected to Redis yet";
    else if (now - last > REDIS_LOST_MS && membership->others)
        reason = "lost Redis while others have it";
    bool ready = strcmp(reason, "ready") == 0;
    char body[160];
    int len = snprintf(body, sizeof body, "{\"status\":\"%s\",\"reason\":\"%s\",\"redis\":\"%s\"}\n",
                       ready ? "ok" : "unready", reason, up ? "up" : "down");
    http_respond(request, &(struct http_response){
                              .status = ready ? 200 : 503, .type = "application/json", .body = {body, (size_t)len}});
}

static void refresh(struct gateway *gateway)
{
    struct process_figures figures;
    struct metrics *metrics = gateway->metrics;
    process_read(&figures);
    metrics_set(metrics, METER_CPU_SECONDS, figures.cpu_seconds, NULL, NULL, NULL);
    metrics_set(metrics, METER_RESIDENT_BYTES, (double)figures.resident_bytes, NULL, NULL, NULL);
    metrics_set(metrics, METER_OPEN_FDS, (double)figures.open_fds, NULL, NULL, NULL);
    metrics_set(metrics, METER_MAX_FDS, (double)figures.max_fds, NULL, NULL, NULL);
    metrics_set(metrics, METER_REDIS_UP, redis_is_up(gateway->line.redis), NULL, NULL, NULL);
    metrics_set(metrics, METER_SENT_BYTES, (double)http_server_sent_bytes(gateway->public_server), NULL, NULL, NULL);
}

void metrics_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    struct buf body;
    buf_init(&body, METRICS_BYTES_MAX);
    refresh(gateway);
    if (metrics_render(gateway->metrics, &body) == OK)
        http_respond(request, &(struct http_response){.status = 200,
                                                      .type = "text/plain; version=0.0.4; charset=utf-8",
                                                      .body = buf_view(&body)});
    else
        http_respond_problem(request, &(struct http_problem){.status = 503,
                                                             .code = "unavailable",
                                                             .title = "Out of memory",
                                                             .detail = "The metrics do not fit into memory."});
    buf_finish(&body);
}

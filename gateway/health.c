#include "gateway/health.h"

#include "common/base/clock.h"
#include "common/http/metrics_page.h"
#include "common/http/response.h"
#include "gateway/gateway.h"

#include <stdio.h>

#define REDIS_LOST_MS 20000

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

void metrics_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    metrics_set(gateway->metrics, METER_REDIS_UP, redis_is_up(gateway->line.redis), NULL, NULL, NULL);
    metrics_set(gateway->metrics, METER_SENT_BYTES, (double)http_server_sent_bytes(gateway->public_server), NULL, NULL,
                NULL);
    http_respond_metrics(request, gateway->metrics);
}

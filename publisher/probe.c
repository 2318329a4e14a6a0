#include "publisher/probe.h"

#include "common/http/metrics_page.h"
#include "common/http/response.h"
#include "publisher/admin.h"
#include "publisher/publisher.h"

#define CONNECTIONS_MAX 64

void probe_health(struct http_request *request, void *context)
{
    (void)context;
    http_respond(request, &(struct http_response){
                              .status = 200, .type = "application/json", .body = TEXT("{\"status\":\"ok\"}\n")});
}

/* Fit to schedule: Redis is there and was found fit, and we are not on our way out. */
static void probe_ready(struct http_request *request, void *context)
{
    const struct publisher *publisher = context;
    const char *reason = publisher->stopping ? "stopping" : publisher->ready ? "ready" : "no Redis that is fit";
    bool ready = publisher->ready && !publisher->stopping;
    char body[128];
    int len = snprintf(body, sizeof body, "{\"status\":\"%s\",\"reason\":\"%s\",\"redis\":\"%s\"}\n",
                       ready ? "ok" : "unready", reason, redis_is_up(publisher->line.redis) ? "up" : "down");
    http_respond(request, &(struct http_response){
                              .status = ready ? 200 : 503, .type = "application/json", .body = {body, (size_t)len}});
}

static void probe_metrics(struct http_request *request, void *context)
{
    http_respond_metrics(request, ((struct publisher *)context)->metrics);
}

static const struct route routes[] = {
    {"GET", "/metrics", "metrics", 0, probe_metrics},
    {"GET", "/healthz", "healthz", 0, probe_health},
    {"GET", "/readyz", "readyz", 0, probe_ready},
};

bool probe_serve(struct publisher *publisher)
{
    struct http_settings settings = http_settings_default();
    settings.loop = publisher->loop;
    settings.name = "metrics";
    settings.routes = routes;
    settings.route_count = sizeof routes / sizeof routes[0];
    settings.context = publisher;
    settings.connections_max = CONNECTIONS_MAX;
    return http_server_create(&publisher->metrics_server, &settings) == OK &&
           admin_listen(publisher->metrics_server, "metrics", publisher->options.common.metrics_listen);
}

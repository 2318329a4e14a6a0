/* The composition root: reads the options, makes the parts, runs the loop, and takes everything apart again. */
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/http/watchers.h"
#include "common/line/memory.h"
#include "common/redis/target.h"
#include "gateway/gateway.h"
#include "gateway/health.h"
#include "gateway/identity.h"
#include "gateway/info.h"
#include "gateway/observe.h"
#include "gateway/pages.h"
#include "gateway/place.h"
#include "gateway/polling.h"
#include "gateway/session.h"
#include "gateway/site.h"
#include "gateway/subscribe.h"
#include "gateway/visitor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

extern char **environ;

#define FD_RESERVE 64          /* listeners, Redis, logs */
#define SEND_BUFFER_BYTES 8192 /* what a client that never reads can hold in the kernel, about */
#define CALL_TIMEOUT_MS 3000
#define EXIT_BAD_CONFIG 2
#define SIGNALS 3

static const struct route public_routes[] = {
    {"GET", "/api/queue/stream", "stream", 0, subscribe_handle},
    {"OPTIONS", "/api/queue/stream", "preflight", 0, preflight_handle},
    {"POST", "/api/queue/join", "join", 0, join_handle},
    {"OPTIONS", "/api/queue/join", "preflight", 0, preflight_handle},
    {"GET", "/api/queue/status", "status", 0, status_handle},
    {"OPTIONS", "/api/queue/status", "preflight", 0, preflight_handle},
    {"POST", "/api/queue/leave", "leave", 0, leave_handle},
    {"OPTIONS", "/api/queue/leave", "preflight", 0, preflight_handle},
    {"GET", "/api/queue/info", "info", ROUTE_ANY_ORIGIN, info_handle},
    {"GET", "/api/queue/verify", "verify", 0, verify_handle},
    {"HEAD", "/api/queue/verify", "verify", 0, verify_handle},
    {"POST", "/api/queue/redeem", "redeem", 0, redeem_handle},
    {"POST", "/api/queue/release", "release", 0, release_handle},
    {"GET", "/.well-known/jwks.json", "jwks", ROUTE_ANY_ORIGIN, jwks_handle},
    {"GET", "/room/{session}", "room", 0, room_handle},
    {"GET", "/waitroom.js", "asset", 0, waitroom_handle},
    {"GET", "/room.css", "asset", 0, style_handle},
    {"GET", "/problems/{code}", "problem", 0, problem_handle},
    {"GET", "/healthz", "healthz", 0, healthz_handle},
    {"GET", "/readyz", "readyz", 0, readyz_handle},
    {"HEAD", "/healthz", "healthz", 0, healthz_handle},
    {"HEAD", "/readyz", "readyz", 0, readyz_handle},
};

static const struct route metrics_routes[] = {
    {"GET", "/metrics", "metrics", 0, metrics_handle},
    {"GET", "/healthz", "healthz", 0, healthz_handle},
    {"GET", "/readyz", "readyz", 0, readyz_handle},
};

/* ---- hooks ---- */

#define NEWCOMERS_WAIT_MS 3000 /* the others connect within 1 s, and then look at once, or every other second */

static void commands_event(void *data, enum redis_event event, const char *detail)
{
    struct gateway *gateway = data;
    log_event(event == REDIS_UP ? LOG_INFO : LOG_WARN, event == REDIS_UP ? "redis-up" : "redis-down",
              LOG_S("connection", "commands"), LOG_S("detail", detail));
    if (event != REDIS_UP) {
        gateway->newcomers_from_ms = UINT64_MAX;
        return;
    }
    if (gateway->newcomers_from_ms > 0)
        gateway->newcomers_from_ms = clock_mono_ms() + NEWCOMERS_WAIT_MS;
    membership_beat(&gateway->membership);
    sweep_compare(&gateway->sweep);
    parks_flush(&gateway->parks);
    inbox_poke(&gateway->inbox);
}

static void block_event(void *data, enum redis_event event, const char *detail)
{
    struct gateway *gateway = data;
    if (event == REDIS_UP)
        inbox_resume(&gateway->inbox);
    else
        log_event(LOG_WARN, "redis-down", LOG_S("connection", "inbox"), LOG_S("detail", detail));
}

static void each_second(uv_timer_t *timer)
{
    struct gateway *gateway = timer->data;
    static uint64_t due_ns;
    uint64_t now_ns = clock_mono_ns();
    if (due_ns && now_ns > due_ns)
        metrics_observe(gateway->metrics, METER_LOOP_LAG, (double)(now_ns - due_ns) / 1e9, NULL, NULL, NULL);
    due_ns = now_ns + 1000000000u;
    membership_beat(&gateway->membership);
    push_second(&gateway->push);
    sweep_second(&gateway->sweep);
    parks_flush(&gateway->parks);
    inbox_poke(&gateway->inbox);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct gateway *gateway = handle->data;
    char why[640];
    if (signum != SIGHUP)
        drain_signal(&gateway->drain);
    else if (keys_load(&gateway->keys, &gateway->options, why, sizeof why) == OK)
        keys_log(&gateway->keys, gateway->membership.id);
    else
        log_event(LOG_ERROR, "keys-kept", LOG_S("reason", why));
}

/* ---- making the parts ---- */

static enum err connect_redis(struct gateway *gateway, const struct redis_url *url)
{
    struct redis_settings settings = redis_settings_default();
    settings.url = url;
    settings.name = "anteroom-gateway";
    settings.window = 1024;
    settings.queue_calls_max = 200000;
    settings.queue_bytes_max = 128u << 20;
    settings.hooks = (struct redis_hooks){.on_event = commands_event, .on_done = observe_redis, .data = gateway};
    enum err err = redis_create(&gateway->line.redis, gateway->loop, &settings);
    if (err != OK)
        return err;
    settings.name = "anteroom-gateway-inbox";
    settings.window = 1;
    settings.ping_every_ms = 0;
    settings.hooks = (struct redis_hooks){.on_event = block_event, .data = gateway};
    return redis_create(&gateway->block, gateway->loop, &settings);
}

static void cap_connections(struct gateway_options *options)
{
    struct rlimit limit;
    int64_t most = 1024 - FD_RESERVE;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max; /* whatever we may have */
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1u << 30)
            most = (int64_t)limit.rlim_cur - FD_RESERVE;
    }
    if (options->connections_max == 0 || options->connections_max > most)
        options->connections_max = most > 0 ? most : 1;
}

static bool listen_on(struct http_server *server, const char *name, const char *address)
{
    char bound[80];
    enum err err = http_server_listen(server, address, bound, sizeof bound);
    if (err != OK) {
        fprintf(stderr, "anteroom-gateway: cannot listen on %s (%s): %s\n", address, name,
                err == ERR_IO ? strerror(errno) : "not an address of the form IP:PORT");
        return false;
    }
    log_event(LOG_INFO, "listening", LOG_S("name", name), LOG_S("address", bound));
    return true;
}

static bool serve(struct gateway *gateway)
{
    struct gateway_options *options = &gateway->options;
    struct http_settings settings = http_settings_default();
    settings.loop = gateway->loop;
    settings.name = "public";
    settings.routes = public_routes;
    settings.route_count = sizeof public_routes / sizeof public_routes[0];
    settings.context = gateway;
    settings.connections_max = (uint32_t)options->connections_max;
    settings.keepalive_ms = (uint32_t)options->keepalive_s * 1000;
    settings.send_buffer_bytes = SEND_BUFFER_BYTES;
    settings.backlog = (int)options->backlog;
    settings.reuseport = options->reuseport;
    settings.on_done = observe_request;
    settings.extra_headers = visitor_headers;
    if (http_server_create(&gateway->public_server, &settings) != OK)
        return false;
    settings.name = "metrics";
    settings.routes = metrics_routes;
    settings.route_count = sizeof metrics_routes / sizeof metrics_routes[0];
    settings.connections_max = 64;
    settings.send_buffer_bytes = 0;
    settings.reuseport = false;
    settings.on_done = NULL;
    settings.extra_headers = NULL;
    return http_server_create(&gateway->metrics_server, &settings) == OK &&
           listen_on(gateway->public_server, "public", options->listen) &&
           listen_on(gateway->metrics_server, "metrics", options->common.metrics_listen);
}

static void start_timers(struct gateway *gateway, uv_signal_t signals[SIGNALS])
{
    static const int numbers[SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < SIGNALS; i++) {
        uv_signal_init(gateway->loop, &signals[i]);
        signals[i].data = gateway;
        uv_signal_start(&signals[i], on_signal, numbers[i]);
    }
    uv_timer_init(gateway->loop, &gateway->second);
    gateway->second.data = gateway;
    uv_timer_start(&gateway->second, each_second, 100, 1000);
}

static void set_build_metrics(struct gateway *gateway)
{
    meter_shared_start(gateway->metrics, "gateway");
    metrics_set(gateway->metrics, METER_CONNECTIONS_MAX, (double)gateway->options.connections_max, NULL, NULL, NULL);
}

/* ---- taking them apart ---- */

static void take_apart(struct gateway *gateway, uv_signal_t signals[SIGNALS])
{
    /* Streams first: their places are parked, by calls that the connection's close then cancels; the publisher does it
     * then. */
    if (gateway->public_server)
        http_server_close(gateway->public_server, NULL, NULL);
    if (gateway->metrics_server)
        http_server_close(gateway->metrics_server, NULL, NULL);
    if (gateway->line.redis)
        redis_close(gateway->line.redis, NULL, NULL);
    if (gateway->block)
        redis_close(gateway->block, NULL, NULL);
    push_close(&gateway->push);
    verify_close(&gateway->verify);
    drain_close(&gateway->drain);
    uv_close((uv_handle_t *)&gateway->second, NULL);
    for (int i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&signals[i], NULL);
    uv_run(gateway->loop, UV_RUN_DEFAULT);
    parks_finish(&gateway->parks);
    sessions_finish(gateway);
    map_finish(&gateway->places);
    unclaimed_finish(&gateway->unclaimed);
    limiter_finish(&gateway->limiter);
    limiter_finish(&gateway->verify_limiter);
    metrics_destroy(gateway->metrics);
    keys_finish(&gateway->keys);
    assets_finish(&gateway->assets);
}

static int run(struct gateway *gateway, const struct redis_url *url, const char *server_id)
{
    uv_signal_t signals[SIGNALS];
    uint32_t count, period_ms;
    bool ready = meters_create(&gateway->metrics, &gateway->meters) == OK;
    CHECK(ready);
    CHECK(limiter_parse(text_of(gateway->options.join_limit), &count, &period_ms) == OK);
    membership_init(&gateway->membership, gateway, server_id);
    sessions_init(gateway);
    places_init(gateway);
    inbox_init(&gateway->inbox, gateway);
    push_init(&gateway->push, gateway);
    verify_init(&gateway->verify, gateway);
    sweep_init(&gateway->sweep, gateway);
    parks_init(&gateway->parks, gateway);
    unclaimed_init(&gateway->unclaimed);
    limiter_init(&gateway->limiter, count, period_ms, LIMITER_ADDRESSES);
    CHECK(limiter_parse(text_of(gateway->options.verify_limit), &count, &period_ms) == OK);
    limiter_init(&gateway->verify_limiter, count, period_ms, LIMITER_ADDRESSES);
    drain_init(&gateway->drain, gateway);
    start_timers(gateway, signals);
    set_build_metrics(gateway);
    watchers_reserve(gateway->loop, (size_t)gateway->options.connections_max * 9 / 8 + 2 * FD_RESERVE);
    ready = connect_redis(gateway, url) == OK && serve(gateway);
    if (ready) {
        log_event(LOG_INFO, "started", LOG_S("server", gateway->membership.name), LOG_S("version", ANTEROOM_VERSION),
                  LOG_I("connections_max", gateway->options.connections_max));
        uv_run(gateway->loop, UV_RUN_DEFAULT);
    }
    int code = ready ? gateway->drain.exit_code : 1;
    take_apart(gateway, signals);
    if (uv_loop_close(gateway->loop) != 0) {
        log_event(LOG_ERROR, "loop-busy", LOG_S("detail", "handles were left open"));
        code = 1;
    }
    log_event(LOG_INFO, "stopped", LOG_I("code", code));
    return code;
}

int main(int argc, char **argv)
{
    static struct gateway gateway;
    struct gateway_options *options = &gateway.options;
    struct redis_url url = {.db = 0};
    uv_loop_t loop;
    char server_id[SERVER_ID_MAX + 1] = "check", why[640] = "";
    memory_init();
    enum option_action action = options_read(&gateway_option_table, argc, argv, environ, ANTEROOM_VERSION, options);
    if (action == OPTION_EXIT_OK || action == OPTION_EXIT_BAD)
        return action == OPTION_EXIT_OK ? 0 : EXIT_BAD_CONFIG;
    setting_apply_log(&options->common);
    signal(SIGPIPE, SIG_IGN);
    CHECK(networks_parse(text_of(options->trusted_proxies), &gateway.trusted_proxies) == OK);
    CHECK(networks_parse(text_of(options->join_limit_exempt), &gateway.limit_exempt) == OK);
    gateway.secure_cookies = text_starts(text_of(options->public_url), "https://");
    CHECK(text_copy(gateway.line.prefix, sizeof gateway.line.prefix, text_of(options->common.key_prefix)) == OK);
    gateway.line.timeout_ms = CALL_TIMEOUT_MS;
    bool good = keys_load(&gateway.keys, options, why, sizeof why) == OK &&
                assets_load(&gateway.assets, options->web_dir, why, sizeof why) == OK &&
                redis_target(&options->common, &url, why, sizeof why) == OK;
    if (good && action == OPTION_RUN && identity_find(options->server_id, options->imds_url, server_id) != OK) {
        snprintf(why, sizeof why, "--server-id must be 1 to 64 of A-Z a-z 0-9 _ - . and not begin with a dot");
        good = false;
    }
    if (!good)
        fprintf(stderr, "anteroom-gateway: %s\n", why);
    if (!good || action == OPTION_CHECK_CONFIG) {
        keys_finish(&gateway.keys);
        assets_finish(&gateway.assets);
        return good ? 0 : EXIT_BAD_CONFIG;
    }
    gateway.user_rules = keys_user_rules(options);
    if (gateway.keys.user.count && !gateway.user_rules.audience[0])
        log_event(LOG_WARN, "user-audience-any", LOG_S("detail", "user tokens made for any audience are accepted"));
    cap_connections(options);
    line_scripts_prepare();
    CHECK(uv_loop_init(&loop) == 0);
    gateway.loop = &loop;
    return run(&gateway, &url, server_id);
}

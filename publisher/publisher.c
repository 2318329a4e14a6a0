#include "publisher/publisher.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/http/watchers.h"
#include "publisher/admin.h"
#include "publisher/probe.h"

#include <errno.h>
#include <signal.h>

#define STOP_MS 5000
#define STOP_LOOK_MS 10
#define DESCRIPTORS_MAX 512 /* more than its listeners' connections, Redis and logs */

/* ---- Redis ---- */

static void redis_event(void *data, enum redis_event event, const char *detail)
{
    struct publisher *publisher = data;
    log_event(event == REDIS_UP ? LOG_INFO : LOG_WARN, event == REDIS_UP ? "redis-up" : "redis-down",
              LOG_S("connection", "commands"), LOG_S("detail", detail));
    metrics_set(publisher->metrics, METER_REDIS_UP, event == REDIS_UP, NULL, NULL, NULL);
    if (event == REDIS_UP)
        startup_check(&publisher->startup);
    else
        startup_forget(&publisher->startup);
}

static void redis_done(void *data, const char *command, enum err err, uint64_t duration_ns)
{
    struct publisher *publisher = data;
    metrics_add(publisher->metrics, METER_REDIS_COMMANDS, 1, command, err_text(err), NULL);
    metrics_observe(publisher->metrics, METER_REDIS_DURATION, (double)duration_ns / 1e9, "commands", NULL, NULL);
}

static enum err connect_redis(struct publisher *publisher, const struct redis_url *url)
{
    struct redis_settings settings = redis_settings_default();
    settings.url = url;
    settings.name = "anteroom-publisher";
    settings.window = 1024;
    settings.queue_calls_max = 100000; /* a tick's messages to many servers for many sessions */
    settings.queue_bytes_max = 128u << 20;
    settings.hooks = (struct redis_hooks){.on_event = redis_event, .on_done = redis_done, .data = publisher};
    enum err err = redis_create(&publisher->line.redis, publisher->loop, &settings);
    return err == OK ? doorbell_open(&publisher->doorbell, publisher, url) : err;
}

/* ---- timers and signals ---- */

static void each_second(uv_timer_t *timer)
{
    struct publisher *publisher = timer->data;
    uint64_t now_ns = clock_mono_ns();
    if (publisher->second_due_ns && now_ns > publisher->second_due_ns)
        metrics_observe(publisher->metrics, METER_LOOP_LAG, (double)(now_ns - publisher->second_due_ns) / 1e9, NULL,
                        NULL, NULL);
    publisher->second_due_ns = now_ns + 1000000000u;
    catalog_second(&publisher->catalog);
    reaper_second(&publisher->reaper);
    startup_second(&publisher->startup);
    events_second(&publisher->events);
}

static void secrets_again(struct publisher *publisher)
{
    const struct keyring *entries = &publisher->secrets.entries;
    char why[640];
    if (secrets_load(&publisher->secrets, &publisher->options, why, sizeof why) != OK) {
        log_event(LOG_ERROR, "keys-kept", LOG_S("detail", why));
        return;
    }
    log_event(LOG_INFO, "keys-read", LOG_S("kid", token_key_id(entries->keys[0])),
              LOG_S("kid_next", entries->count > 1 ? token_key_id(entries->keys[1]) : NULL),
              LOG_I("tokens", publisher->secrets.actors->count));
    events_secrets(&publisher->events);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct publisher *publisher = handle->data;
    if (signum == SIGHUP)
        secrets_again(publisher);
    else
        publisher_stop(publisher, 0);
}

static void start_timers(struct publisher *publisher)
{
    static const int numbers[3] = {SIGTERM, SIGINT, SIGHUP};
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        failed |= uv_signal_init(publisher->loop, &publisher->signals[i]);
        publisher->signals[i].data = publisher;
        failed |= uv_signal_start(&publisher->signals[i], on_signal, numbers[i]);
    }
    failed |= uv_timer_init(publisher->loop, &publisher->second) | uv_timer_init(publisher->loop, &publisher->stopper);
    publisher->second.data = publisher->stopper.data = publisher;
    failed |= uv_timer_start(&publisher->second, each_second, 1000, 1000);
    CHECK(failed == 0);
}

/* ---- life ---- */

bool publisher_start(struct publisher *publisher, const struct redis_url *url)
{
    bool ready = publisher_meters_create(&publisher->metrics) == OK;
    CHECK(ready);
    meter_shared_start(publisher->metrics, "publisher");
    startup_init(&publisher->startup, publisher);
    catalog_init(&publisher->catalog, publisher);
    reaper_init(&publisher->reaper, publisher);
    loads_init(&publisher->loads, publisher->metrics);
    guard_init(&publisher->guard, publisher->loop);
    crowds_init(&publisher->crowds, publisher);
    events_init(&publisher->events, publisher);
    start_timers(publisher);
    watchers_reserve(publisher->loop, DESCRIPTORS_MAX);
    return connect_redis(publisher, url) == OK && admin_serve(publisher) && probe_serve(publisher);
}

static void on_stopper(uv_timer_t *timer)
{
    struct publisher *publisher = timer->data;
    bool idle = catalog_idle(&publisher->catalog) && publisher->operations == 0;
    if (!idle && clock_mono_ms() < publisher->stop_by_ms)
        return;
    if (!idle)
        log_event(LOG_WARN, "stop-forced",
                  LOG_S("detail", "Redis did not answer in time; the next tick of another publisher goes on"));
    publisher_close(publisher);
}

void publisher_stop(struct publisher *publisher, int exit_code)
{
    if (publisher->stopping)
        return;
    log_event(LOG_INFO, "stopping", LOG_I("code", exit_code));
    publisher->stopping = true;
    publisher->exit_code = exit_code;
    publisher->stop_by_ms = clock_mono_ms() + STOP_MS;
    if (publisher->admin_server) {
        http_server_stop_listening(publisher->admin_server);
        http_server_drain(publisher->admin_server);
    }
    crowds_stop(&publisher->crowds);
    events_stop(&publisher->events);
    uv_timer_start(&publisher->stopper, on_stopper, 0, STOP_LOOK_MS);
}

void publisher_close(struct publisher *publisher)
{
    if (publisher->admin_server)
        http_server_close(publisher->admin_server, NULL, NULL);
    if (publisher->metrics_server)
        http_server_close(publisher->metrics_server, NULL, NULL);
    doorbell_close(&publisher->doorbell);
    if (publisher->line.redis)
        redis_close(publisher->line.redis, NULL, NULL); /* ends ticks, burials and operations */
    catalog_finish(&publisher->catalog);
    crowds_close(&publisher->crowds);
    uv_close((uv_handle_t *)&publisher->second, NULL);
    uv_close((uv_handle_t *)&publisher->stopper, NULL);
    for (int i = 0; i < 3; i++)
        uv_close((uv_handle_t *)&publisher->signals[i], NULL);
}

void publisher_finish(struct publisher *publisher)
{
    events_finish(&publisher->events);
    reaper_finish(&publisher->reaper);
    loads_finish(&publisher->loads);
    metrics_destroy(publisher->metrics);
    secrets_finish(&publisher->secrets);
}

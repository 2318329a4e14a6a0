#include "common/http/server.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/http/connection.h"
#include "common/http/server_state.h"

#include <fcntl.h>
#include <unistd.h>

struct http_settings http_settings_default(void)
{
    return (struct http_settings){
        .name = "http",
        .connections_max = 10000,
        .header_timeout_ms = 10000,
        .body_timeout_ms = 10000,
        .keepalive_ms = 75000,
        .stall_timeout_ms = 30000,
        .backlog = 1024,
    };
}

static void on_tick(uv_timer_t *timer)
{
    struct http_server *server = timer->data;
    struct wheel_node *node;
    wheel_advance(&server->wheel, uv_now(server->settings.loop));
    while ((node = wheel_pop(&server->wheel)) != NULL)
        connection_expired(CONTAINER_OF(node, struct connection, deadline));
    if (!listeners_retry(server) && server->wheel.armed == 0)
        uv_timer_stop(timer);
}

void server_wake(struct http_server *server)
{
    if (server->closing || uv_is_active((uv_handle_t *)&server->timer))
        return;
    wheel_advance(&server->wheel, uv_now(server->settings.loop));
    CHECK(uv_timer_start(&server->timer, on_tick, SERVER_TICK_MS, SERVER_TICK_MS) == 0);
}

static void on_idle(uv_idle_t *idle)
{
    struct http_server *server = idle->data;
    struct list *link;
    server->begun = 0;
    if (listeners_retry(server))
        server_wake(server);
    for (int i = 0; i < SERVER_SLICE && (link = list_first(&server->queue)) != NULL; i++)
        connection_turn(CONTAINER_OF(link, struct connection, link));
    if (list_empty(&server->queue))
        uv_idle_stop(idle);
}

bool server_has_time(struct http_server *server)
{
    return server->begun++ < SERVER_SLICE;
}

void server_later(struct http_server *server)
{
    CHECK(uv_idle_start(&server->idle, on_idle) == 0);
}

void server_queue(struct http_server *server, struct list *link)
{
    list_remove(link);
    list_append(&server->queue, link);
    server_later(server);
}

static void on_handle_closed(uv_handle_t *handle)
{
    server_handle_closed(handle->data);
}

void server_handle_closed(struct http_server *server)
{
    if (--server->handles > 0)
        return;
    CHECK(server->closing); /* timer and idle are the last handles, and only http_server_close ends them */
    void (*done)(void *data) = server->done;
    void *data = server->done_data;
    if (server->spare_fd >= 0)
        close(server->spare_fd);
    free(server);
    if (done)
        done(data);
}

size_t server_overflow_max(const struct http_server *server)
{
    return server->settings.connections_max / 8 + 16;
}

const char *server_date(struct http_server *server)
{
    int64_t now_s = clock_wall_ms() / 1000;
    if (now_s != server->date_s) {
        struct tm parts;
        time_t seconds = (time_t)now_s;
        gmtime_r(&seconds, &parts);
        strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        server->date_s = now_s;
    }
    return server->date;
}

enum err http_server_create(struct http_server **out, const struct http_settings *settings)
{
    CHECK(settings->loop && (settings->routes || settings->route_count == 0));
    struct http_server *server = calloc(1, sizeof *server);
    if (!server)
        return ERR_NOMEM;
    server->settings = *settings;
    server->date_s = -1;
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    list_init(&server->connections);
    list_init(&server->listeners);
    list_init(&server->queue);
    wheel_init(&server->wheel, SERVER_TICK_MS, uv_now(settings->loop));
    CHECK(uv_timer_init(settings->loop, &server->timer) == 0);
    CHECK(uv_idle_init(settings->loop, &server->idle) == 0);
    server->timer.data = server->idle.data = server;
    server->handles = 2;
    *out = server;
    return OK;
}

void http_server_drain(struct http_server *server)
{
    server->draining = true;
}

void http_server_close(struct http_server *server, void (*done)(void *data), void *data)
{
    struct list *link;
    CHECK(!server->closing);
    server->closing = true;
    server->draining = true;
    server->done = done;
    server->done_data = data;
    listeners_close(server);
    while ((link = list_first(&server->connections)) != NULL || (link = list_first(&server->queue)) != NULL)
        connection_close(CONTAINER_OF(link, struct connection, link), "closing");
    uv_close((uv_handle_t *)&server->idle, on_handle_closed);
    uv_close((uv_handle_t *)&server->timer, on_handle_closed);
}

size_t http_server_connections(const struct http_server *server)
{
    return server->open;
}

uint64_t http_server_sent_bytes(const struct http_server *server)
{
    return server->sent_bytes;
}

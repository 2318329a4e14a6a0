#include "common/redis/dial.h"

#include "common/base/check.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

static void try_address(struct redis_link *link);

static void on_attempt_closed(uv_handle_t *handle)
{
    struct redis_link *link = handle->data;
    link->has_socket = false;
    if (link->state == LINK_CONNECTING && link->address) {
        link->address = link->address->ai_next;
        try_address(link);
    }
    redis_link_let_go(link);
}

static void give_address_up(struct redis_link *link, const char *why)
{
    char name[INET6_ADDRSTRLEN] = "";
    if (link->address)
        uv_ip_name(link->address->ai_addr, name, sizeof name);
    snprintf(link->why, sizeof link->why, "connect to %s: %s", link->address ? name : link->url->path, why);
    uv_timer_stop(&link->attempt_timer);
    uv_close(&link->socket.handle, on_attempt_closed);
}

static void on_attempt_timeout(uv_timer_t *timer)
{
    give_address_up(timer->data, "no answer in time");
}

static void on_connect(uv_connect_t *connecting, int status)
{
    struct redis_link *link = connecting->data;
    if (link->state != LINK_CONNECTING || uv_is_closing(&link->socket.handle))
        return; /* given up: its close callback goes on */
    if (status < 0 && link->address) {
        give_address_up(link, uv_strerror(status));
    } else if (status < 0) {
        snprintf(link->why, sizeof link->why, "connect to %s: %s", link->url->path, uv_strerror(status));
        redis_link_fail(link, link->why);
    } else {
        uv_timer_stop(&link->attempt_timer);
        redis_link_established(link);
    }
}

static void hold_socket(struct redis_link *link)
{
    link->socket.handle.data = link;
    link->connecting.data = link;
    link->has_socket = true;
    link->held++;
}

static void try_address(struct redis_link *link)
{
    if (!link->address) {
        redis_link_fail(link, link->why);
        return;
    }
    int result = uv_tcp_init(link->loop, &link->socket.tcp);
    CHECK(result == 0); /* makes no socket yet */
    hold_socket(link);
    result = uv_tcp_connect(&link->connecting, &link->socket.tcp, link->address->ai_addr, on_connect);
    if (result == 0)
        result = uv_timer_start(&link->attempt_timer, on_attempt_timeout, link->timeout_ms, 0);
    if (result != 0)
        give_address_up(link, uv_strerror(result));
}

static void on_resolved(uv_getaddrinfo_t *resolving, int status, struct addrinfo *addresses)
{
    struct redis_link *link = resolving->data;
    uint32_t count = 0;
    link->is_resolving = false;
    link->addresses = link->address = addresses;
    if (link->state == LINK_RESOLVING && status < 0) {
        snprintf(link->why, sizeof link->why, "resolve %s: %s", link->url->host, uv_strerror(status));
        redis_link_fail(link, link->why);
    } else if (link->state == LINK_RESOLVING) {
        link->state = LINK_CONNECTING;
        for (struct addrinfo *each = addresses; each; each = each->ai_next)
            count++;
        link->timeout_ms = count ? link->timeout_ms / count + 1 : 0;
        snprintf(link->why, sizeof link->why, "resolve %s: no address", link->url->host);
        try_address(link);
    }
    redis_link_let_go(link);
}

enum err redis_dial(struct redis_link *link)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    link->resolving.data = link;
    if (uv_getaddrinfo(link->loop, &link->resolving, on_resolved, link->url->host, link->url->port, &hints) != 0)
        return ERR_IO;
    link->is_resolving = true;
    link->held++;
    return OK;
}

void redis_dial_pipe(struct redis_link *link)
{
    int result = uv_pipe_init(link->loop, &link->socket.pipe, 0);
    CHECK(result == 0);
    hold_socket(link);
    link->state = LINK_CONNECTING;
    uv_pipe_connect(&link->connecting, &link->socket.pipe, link->url->path, on_connect);
}

#include "common/http/server.h"

#include "common/base/check.h"
#include "common/http/connection.h"
#include "common/http/server_state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

struct listener {
    uv_tcp_t tcp;
    struct http_server *server;
    struct list link;
    bool waiting; /* a newcomer could not be taken for want of time or memory; libuv offers no other until it is */
};

/* Descriptors have run out: one is given up for a moment to take and drop the newcomer, else the loop would spin on it.
 */
static void turn_away(struct listener *listener)
{
    struct http_server *server = listener->server;
    int fd = -1;
    if (server->spare_fd >= 0)
        close(server->spare_fd);
    if (uv_fileno((uv_handle_t *)&listener->tcp, &fd) == 0)
        fd = accept(fd, NULL, NULL);
    if (fd >= 0)
        close(fd);
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_newcomer(uv_stream_t *stream, int status)
{
    struct listener *listener = stream->data;
    if (status == UV_EMFILE || status == UV_ENFILE)
        turn_away(listener);
    if (status != 0)
        return;
    if (!server_has_time(listener->server)) {
        listener->waiting = true;
        server_later(listener->server);
        return;
    }
    listener->waiting = connection_accept(listener->server, stream) != OK;
    if (listener->waiting)
        server_wake(listener->server);
}

bool listeners_retry(struct http_server *server)
{
    bool waiting = false;
    for (struct list *link = server->listeners.next; link != &server->listeners; link = link->next) {
        struct listener *listener = CONTAINER_OF(link, struct listener, link);
        if (listener->waiting)
            listener->waiting = connection_accept(server, (uv_stream_t *)&listener->tcp) != OK;
        waiting = waiting || listener->waiting;
    }
    return waiting;
}

static void on_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    struct http_server *server = listener->server;
    free(listener);
    server_handle_closed(server);
}

static void listener_close(struct listener *listener)
{
    list_remove(&listener->link);
    uv_close((uv_handle_t *)&listener->tcp, on_closed);
}

void listeners_close(struct http_server *server)
{
    struct list *link;
    while ((link = list_first(&server->listeners)) != NULL)
        listener_close(CONTAINER_OF(link, struct listener, link));
}

static enum err address_parse(const char *address, struct sockaddr_storage *out)
{
    char host[64];
    int64_t port;
    const char *colon = strrchr(address, ':');
    if (!colon || text_int(text_of(colon + 1), 0, 65535, &port) != OK)
        return ERR_INVALID;
    struct text ip = {address, (size_t)(colon - address)};
    bool v6 = ip.len >= 2 && ip.at[0] == '[' && ip.at[ip.len - 1] == ']';
    if (v6)
        ip = (struct text){ip.at + 1, ip.len - 2};
    if (text_copy(host, sizeof host, ip) != OK)
        return ERR_INVALID;
    int failed = v6 ? uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)out)
                    : uv_ip4_addr(host, (int)port, (struct sockaddr_in *)out);
    return failed ? ERR_INVALID : OK;
}

static int listener_start(struct listener *listener, const struct sockaddr *address)
{
    const struct http_settings *settings = &listener->server->settings;
    int fd, on = 1;
    int error = uv_fileno((uv_handle_t *)&listener->tcp, &fd);
    if (error == 0 && settings->reuseport && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0)
        error = -errno;
    if (error == 0)
        error = uv_tcp_bind(&listener->tcp, address, 0);
    if (error == 0)
        error = uv_listen((uv_stream_t *)&listener->tcp, settings->backlog, on_newcomer);
    return error;
}

static void bound_write(struct listener *listener, char *dst, size_t size)
{
    struct sockaddr_storage address = {0};
    int len = sizeof address;
    char ip[64] = "";
    CHECK(uv_tcp_getsockname(&listener->tcp, (struct sockaddr *)&address, &len) == 0);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
    if (address.ss_family == AF_INET6) {
        uv_ip6_name(v6, ip, sizeof ip);
        snprintf(dst, size, "[%s]:%u", ip, ntohs(v6->sin6_port));
    } else {
        uv_ip4_name(v4, ip, sizeof ip);
        snprintf(dst, size, "%s:%u", ip, ntohs(v4->sin_port));
    }
}

enum err http_server_listen(struct http_server *server, const char *address, char *bound, size_t size)
{
    struct sockaddr_storage parsed = {0};
    if (address_parse(address, &parsed) != OK)
        return ERR_INVALID;
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener)
        return ERR_NOMEM;
    listener->server = server;
    int error = uv_tcp_init_ex(server->settings.loop, &listener->tcp, parsed.ss_family);
    if (error != 0) {
        free(listener);
        errno = -error;
        return ERR_IO;
    }
    listener->tcp.data = listener;
    server->handles++;
    list_append(&server->listeners, &listener->link);
    error = listener_start(listener, (const struct sockaddr *)&parsed);
    if (error != 0) {
        listener_close(listener);
        errno = -error;
        return ERR_IO;
    }
    if (bound)
        bound_write(listener, bound, size);
    return OK;
}

void http_server_stop_listening(struct http_server *server)
{
    listeners_close(server);
}

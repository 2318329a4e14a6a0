#include "common/http/connection.h"

#include "common/base/check.h"
#include "common/http/server_state.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void peer_note(struct connection *connection)
{
    struct sockaddr_storage address = {0};
    int size = sizeof address;
    if (uv_tcp_getpeername(&connection->tcp, (struct sockaddr *)&address, &size) != 0)
        return;
    if (address.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
        connection->peer_port = v4->sin_port;
        memcpy(connection->peer_address, &v4->sin_addr, sizeof v4->sin_addr);
        return;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
    connection->peer_port = v6->sin6_port;
    connection->peer_v6 = !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
    if (connection->peer_v6)
        memcpy(connection->peer_address, &v6->sin6_addr, sizeof v6->sin6_addr);
    else
        memcpy(connection->peer_address, v6->sin6_addr.s6_addr + 12, 4);
}

/* Best effort: a socket without one of these still works. */
static void socket_options(struct connection *connection)
{
    const struct http_settings *settings = &connection->server->settings;
    unsigned stall_ms = settings->stall_timeout_ms;
    int bytes = (int)settings->send_buffer_bytes;
    uv_fileno((uv_handle_t *)&connection->tcp, &connection->fd);
    uv_tcp_nodelay(&connection->tcp, 1);
    uv_tcp_keepalive(&connection->tcp, 1, 60);
    setsockopt(connection->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &stall_ms, sizeof stall_ms);
    if (bytes > 0)
        setsockopt(connection->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static void admit(struct connection *connection)
{
    struct http_server *server = connection->server;
    connection->overflow = server->open >= server->settings.connections_max;
    if (connection->overflow)
        server->overflow++;
    else
        server->open++;
    peer_note(connection);
    socket_options(connection);
    connection_deadline(connection, connection->overflow ? SERVER_OVERFLOW_MS : server->settings.header_timeout_ms);
    if (server->overflow > server_overflow_max(server) && connection->overflow)
        connection_reset(connection, "overflow");
    else
        connection_read(connection);
}

enum err connection_accept(struct http_server *server, uv_stream_t *listener)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return ERR_NOMEM;
    connection->server = server;
    connection->fd = -1;
    connection->fresh = true;
    wheel_node_init(&connection->deadline);
    CHECK(uv_tcp_init(server->settings.loop, &connection->tcp) == 0);
    connection->tcp.data = connection;
    list_append(&server->connections, &connection->link);
    server->handles++;
    if (uv_accept(listener, (uv_stream_t *)&connection->tcp) == 0) {
        admit(connection);
        return OK;
    }
    server->open++; /* closing takes it off again */
    connection_close(connection, "accept");
    return OK;
}

#include "common/http/connection.h"

#include "common/http/server_state.h"

#include <errno.h>
#include <sys/socket.h>

/* What the socket did not take at once. */
struct pending {
    uv_write_t write;
    size_t len;
    char bytes[];
};

static bool stalls_here(const struct connection *connection)
{
    return connection->state == CONNECTION_FLUSHING || connection->state == CONNECTION_STREAM;
}

static void on_written(uv_write_t *write, int status)
{
    struct pending *pending = CONTAINER_OF(write, struct pending, write);
    struct connection *connection = write->handle->data;
    struct http_server *server = connection->server;
    size_t len = pending->len;
    free(pending);
    connection->pending--;
    if (connection->state == CONNECTION_CLOSING)
        return;
    if (status < 0) {
        connection_close(connection, "gone");
        return;
    }
    server->sent_bytes += len;
    if (connection->pending || !stalls_here(connection) || connection->broken)
        return;
    wheel_cancel(&server->wheel, &connection->deadline);
    if (connection->state == CONNECTION_STREAM)
        connection->stream.owner->on_drain(connection->stream.data);
    else
        connection_step(connection, (struct text){NULL, 0});
}

static enum output queue(struct connection *connection, const char *bytes, size_t len)
{
    struct pending *pending = malloc(sizeof *pending + len);
    if (!pending)
        return OUTPUT_FAILED;
    memcpy(pending->bytes, bytes, len);
    pending->len = len;
    uv_buf_t buf = uv_buf_init(pending->bytes, (unsigned)len);
    if (uv_write(&pending->write, (uv_stream_t *)&connection->tcp, &buf, 1, on_written) != 0) {
        free(pending);
        return OUTPUT_FAILED;
    }
    connection->pending++;
    connection->unsent = (uint32_t)uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp);
    if (stalls_here(connection))
        connection_deadline(connection, connection->server->settings.stall_timeout_ms);
    return OUTPUT_QUEUED;
}

/* One send of its own while libuv has nothing queued: it is what uv_try_write does, without its bookkeeping. */
enum output connection_send(struct connection *connection, const char *bytes, size_t len)
{
    ssize_t sent = 0;
    if (!connection->pending) {
        do
            sent = send(connection->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return OUTPUT_FAILED;
        sent = sent < 0 ? 0 : sent;
        connection->server->sent_bytes += (uint64_t)sent;
    }
    return (size_t)sent == len ? OUTPUT_SENT : queue(connection, bytes + sent, len - (size_t)sent);
}

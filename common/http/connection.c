#include "common/http/connection.h"

#include "common/http/answer.h"
#include "common/http/exchange.h"
#include "common/http/server_state.h"

#include <sys/socket.h>

/* More than this from the client of a stream is not a browser's doing. */
#define STREAM_DISCARD_BYTES_MAX 16384

static const struct text nothing = {NULL, 0};

void connection_deadline(struct connection *connection, uint32_t ms)
{
    struct http_server *server = connection->server;
    wheel_set(&server->wheel, &connection->deadline, uv_now(server->settings.loop) + ms);
    server_wake(server);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct connection *connection = handle->data;
    *buf = uv_buf_init(connection->server->read_buffer, SERVER_READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct connection *connection = stream->data;
    if (len > 0) {
        connection_step(connection, (struct text){buf->base, (size_t)len});
    } else if (len == UV_EOF && connection->state == CONNECTION_FLUSHING) {
        connection->ended = true; /* the whole answer still goes out */
        connection->keep = false;
    } else if (len == UV_EOF && connection->state == CONNECTION_QUEUED) {
        connection->ended = true; /* what it asked for before is answered, as long as the answers find room */
    } else if (len < 0) {
        connection_close(connection, "gone");
    }
}

void connection_read(struct connection *connection)
{
    connection->paused = false;
    if (uv_read_start((uv_stream_t *)&connection->tcp, on_alloc, on_read) != 0)
        connection_close(connection, "read");
}

/* ---- Steps ---- */

/* Bytes behind a request that is not answered yet. Those of the exchange before are handed on without a copy. */
static void park(struct connection *connection, struct buf *carry, struct text *in)
{
    struct http_request *request = connection->request;
    bool carried = carry->data && in->at >= carry->data && in->at < carry->data + carry->len;
    if (carried && request->ahead.len == 0) {
        request->ahead_at = (size_t)(in->at - carry->data);
        buf_finish(&request->ahead);
        request->ahead = *carry;
        buf_init(carry, EXCHANGE_AHEAD_MAX);
    } else if (in->len) {
        buf_consume(&request->ahead, request->ahead_at);
        request->ahead_at = 0;
        if (buf_text(&request->ahead, *in) != OK) {
            connection_close(connection, "memory");
            *in = nothing;
            return;
        }
    }
    *in = nothing;
    if (request->ahead.len - request->ahead_at > EXCHANGE_AHEAD_PAUSE && !connection->paused) {
        connection->paused = true;
        uv_read_stop((uv_stream_t *)&connection->tcp);
    }
}

static void discard(struct connection *connection, struct text *in)
{
    uint32_t max = connection->state == CONNECTION_STREAM ? STREAM_DISCARD_BYTES_MAX : SERVER_LINGER_BYTES_MAX;
    if (in->len == 0)
        return;
    connection->discarded += (uint32_t)in->len;
    connection->keep = false;
    *in = nothing;
    if (connection->discarded > max)
        connection_reset(connection, "flood");
}

static void request_begin(struct connection *connection)
{
    connection->request = exchange_create(connection);
    if (!connection->request) {
        connection_close(connection, "memory");
        return;
    }
    if (!connection->fresh)
        connection_deadline(connection, connection->server->settings.header_timeout_ms);
    connection->fresh = false;
    bool now = !connection->served && server_has_time(connection->server);
    connection->state = now ? CONNECTION_HEAD : CONNECTION_QUEUED;
    connection->served = true;
    if (!now)
        server_queue(connection->server, &connection->link);
}

/* What waits behind an answered request, or for its turn: without a copy to CARRY and IN. */
static void ahead_take(struct http_request *request, struct buf *carry, struct text *in)
{
    buf_finish(carry);
    *carry = request->ahead;
    *in = carry->len ? (struct text){carry->data + request->ahead_at, carry->len - request->ahead_at} : nothing;
    buf_init(&request->ahead, EXCHANGE_AHEAD_MAX);
    request->ahead_at = 0;
}

void connection_turn(struct connection *connection)
{
    list_remove(&connection->link);
    list_append(&connection->server->connections, &connection->link);
    connection->state = CONNECTION_HEAD;
    connection_deadline(connection,
                        connection->overflow ? SERVER_OVERFLOW_MS : connection->server->settings.header_timeout_ms);
    connection_step(connection, nothing);
}

static void linger_begin(struct connection *connection)
{
    if (connection->ended) {
        connection_close(connection, "done");
        return;
    }
    shutdown(connection->fd, SHUT_WR); /* nothing is queued in libuv here */
    connection->discarded = 0;
    connection->state = CONNECTION_LINGER;
    connection_deadline(connection, SERVER_LINGER_MS);
}

/* The answer is with the kernel. What came behind the request goes to *CARRY and *IN. */
static void answer_written(struct connection *connection, struct buf *carry, struct text *in)
{
    struct http_request *request = connection->request;
    connection->request = NULL;
    if (request) {
        ahead_take(request, carry, in);
        exchange_destroy(request);
    }
    if (!connection->keep) {
        linger_begin(connection);
        return;
    }
    connection->state = CONNECTION_IDLE;
    connection_deadline(connection, connection->server->settings.keepalive_ms);
}

/* One move; false when there is nothing more to do now. */
static bool advance(struct connection *connection, struct buf *carry, struct text *in)
{
    switch ((enum connection_state)connection->state) {
    case CONNECTION_IDLE:
        if (in->len)
            request_begin(connection);
        return in->len > 0;
    case CONNECTION_QUEUED:
        park(connection, carry, in);
        return false;
    case CONNECTION_HEAD:
    case CONNECTION_BODY:
        if (in->len == 0 && connection->request->ahead.len)
            ahead_take(connection->request, carry, in);
        if (in->len == 0 && connection->ended)
            connection_close(connection, "gone");
        if (in->len == 0)
            return false;
        exchange_feed(connection->request, in);
        return true;
    case CONNECTION_READY:
        park(connection, carry, in);
        if (connection->state == CONNECTION_READY)
            exchange_dispatch(connection->request);
        return true;
    case CONNECTION_HANDLING:
        park(connection, carry, in);
        return false;
    case CONNECTION_FLUSHING:
        if (connection->request && connection->keep)
            park(connection, carry, in);
        else
            discard(connection, in);
        if (connection->state != CONNECTION_FLUSHING || connection->pending)
            return false;
        answer_written(connection, carry, in);
        return true;
    case CONNECTION_STREAM:
    case CONNECTION_LINGER:
        discard(connection, in);
        return false;
    case CONNECTION_CLOSING:
        break;
    }
    return false;
}

static bool reads_now(const struct connection *connection)
{
    const struct http_request *request = connection->request;
    if (request && (connection->state == CONNECTION_HANDLING || connection->state == CONNECTION_QUEUED))
        return request->ahead.len - request->ahead_at <= EXCHANGE_AHEAD_PAUSE;
    return connection->state != CONNECTION_FLUSHING && connection->state != CONNECTION_CLOSING;
}

void connection_step(struct connection *connection, struct text in)
{
    if (connection->stepping)
        return;
    struct buf carry;
    buf_init(&carry, EXCHANGE_AHEAD_MAX);
    connection->stepping = true;
    connection->served = connection->state != CONNECTION_IDLE;
    while (advance(connection, &carry, &in)) {}
    connection->stepping = false;
    buf_finish(&carry);
    if (connection->paused && reads_now(connection))
        connection_read(connection);
}

/* ---- Deadlines and the end ---- */

static void stall_check(struct connection *connection)
{
    uint32_t unsent = (uint32_t)uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp);
    if (connection->broken) {
        connection_close(connection, "gone");
    } else if (unsent < connection->unsent) {
        connection->unsent = unsent;
        connection_deadline(connection, connection->server->settings.stall_timeout_ms);
    } else {
        connection_reset(connection, "stalled");
    }
}

void connection_expired(struct connection *connection)
{
    switch ((enum connection_state)connection->state) {
    case CONNECTION_HEAD:
    case CONNECTION_BODY:
        exchange_refuse(connection->request, REFUSE_SLOW);
        break;
    case CONNECTION_FLUSHING:
    case CONNECTION_STREAM:
        stall_check(connection);
        break;
    case CONNECTION_IDLE:
    case CONNECTION_LINGER:
        connection_close(connection, "idle");
        break;
    case CONNECTION_QUEUED:
    case CONNECTION_READY:
    case CONNECTION_HANDLING:
    case CONNECTION_CLOSING:
        break;
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct http_server *server = connection->server;
    free(connection);
    server_handle_closed(server);
}

/* The request's or stream's owner hears of it; the answer to a request may be under way already. */
static void owner_tell(struct connection *connection, enum connection_state was, const char *reason)
{
    struct http_request *request = connection->request;
    struct http_stream stream = connection->stream;
    connection->request = NULL;
    connection->stream.owner = NULL;
    if (request && was == CONNECTION_HANDLING) {
        answer_done(request, 0);
        if (request->gone)
            request->gone(request->gone_data);
    }
    if (request)
        exchange_destroy(request);
    if (stream.owner && was == CONNECTION_STREAM)
        stream.owner->on_closed(stream.data, reason);
}

static void end(struct connection *connection, const char *reason, bool reset)
{
    struct http_server *server = connection->server;
    enum connection_state was = (enum connection_state)connection->state;
    if (was == CONNECTION_CLOSING)
        return;
    connection->state = CONNECTION_CLOSING;
    wheel_cancel(&server->wheel, &connection->deadline);
    list_remove(&connection->link);
    if (connection->overflow)
        server->overflow--;
    else
        server->open--;
    if (!reset || uv_tcp_close_reset(&connection->tcp, on_closed) != 0)
        uv_close((uv_handle_t *)&connection->tcp, on_closed);
    owner_tell(connection, was, reason);
}

void connection_close(struct connection *connection, const char *reason)
{
    end(connection, reason, false);
}

void connection_reset(struct connection *connection, const char *reason)
{
    end(connection, reason, true);
}

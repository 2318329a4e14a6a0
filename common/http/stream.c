#include "common/http/stream.h"

#include "common/base/check.h"
#include "common/http/answer.h"
#include "common/http/connection.h"
#include "common/http/exchange.h"
#include "common/http/server_state.h"

static const char stream_end[] = "0\r\n\r\n";
#define STREAM_END_LEN (sizeof stream_end - 1)
#define CHUNK_HEAD_LEN 5 /* three hex digits and CRLF */
_Static_assert(CHUNK_HEAD_LEN <= HTTP_FRAME_RESERVE && 2 + STREAM_END_LEN <= HTTP_FRAME_RESERVE &&
                   HTTP_FRAME_MAX <= 0xfff,
               "a frame's framing must fit its reserve");

static struct connection *connection_of(const struct http_stream *stream)
{
    return CONTAINER_OF((struct http_stream *)(uintptr_t)stream, struct connection, stream);
}

/* Puts the chunk's framing around the payload, and the stream's end behind it if LAST. An empty chunk would be that
 * end. */
static struct text frame_wrap(bool chunked, char *frame, size_t len, bool last)
{
    CHECK(len <= HTTP_FRAME_MAX);
    struct text all = {frame, len};
    if (!chunked)
        return all;
    if (len) {
        static const char hex[] = "0123456789abcdef";
        frame[-5] = hex[len >> 8];
        frame[-4] = hex[len >> 4 & 15];
        frame[-3] = hex[len & 15];
        memcpy(frame - 2, "\r\n", 2);
        memcpy(frame + len, "\r\n", 2);
        all = (struct text){frame - CHUNK_HEAD_LEN, CHUNK_HEAD_LEN + len + 2};
    }
    if (last) {
        memcpy((char *)(uintptr_t)all.at + all.len, stream_end, STREAM_END_LEN);
        all.len += STREAM_END_LEN;
    }
    return all;
}

/* From now on the owner hears of the end through on_closed, later and from the loop. */
static void stream_break(struct connection *connection)
{
    connection->broken = true;
    connection_deadline(connection, 0);
}

static void stream_begin(struct connection *connection, const struct http_stream_owner *owner, void *data)
{
    struct http_request *request = connection->request;
    connection->discarded = (uint32_t)(request->ahead.len - request->ahead_at);
    connection->keep = connection->keep && connection->discarded == 0;
    connection->stream = (struct http_stream){owner, data};
    connection->request = NULL;
    exchange_destroy(request);
}

struct http_stream *http_stream_open(struct http_request *request, const char *type, const char *headers, char *first,
                                     size_t len, const struct http_stream_owner *owner, void *data)
{
    struct connection *connection = request->connection;
    struct http_response response = {.status = 200, .type = type, .headers = headers};
    if (request->head.is_head) { /* the same headers and no stream */
        http_respond(request, &response);
        return NULL;
    }
    struct buf out;
    buf_init(&out, ANSWER_BYTES_MAX);
    connection->chunked = request->head.minor == 1;
    connection->keep = answer_keeps(request) && connection->chunked;
    enum err err =
        answer_head(&out, request, &response, connection->chunked ? ANSWER_CHUNKED : ANSWER_TO_END, connection->keep);
    if (err == OK)
        err = buf_text(&out, frame_wrap(connection->chunked, first, len, false));
    if (err != OK) {
        buf_finish(&out);
        connection_close(connection, "memory"); /* a browser comes back after that, and would not after a 503 */
        return NULL;
    }
    connection->state = CONNECTION_STREAM;
    enum output output = connection_send(connection, out.data, out.len);
    buf_finish(&out);
    answer_done(request, response.status);
    stream_begin(connection, owner, data);
    if (output == OUTPUT_FAILED || connection->ended) /* it went away while it waited for its turn */
        stream_break(connection);
    connection_step(connection, (struct text){NULL, 0});
    return &connection->stream;
}

enum http_sent http_stream_send(struct http_stream *stream, char *frame, size_t len)
{
    struct connection *connection = connection_of(stream);
    if (connection->state != CONNECTION_STREAM || connection->broken)
        return HTTP_BROKEN;
    if (connection->pending)
        return HTTP_BUSY;
    struct text all = frame_wrap(connection->chunked, frame, len, false);
    switch (all.len ? connection_send(connection, all.at, all.len) : OUTPUT_SENT) {
    case OUTPUT_SENT:
        return HTTP_SENT;
    case OUTPUT_QUEUED:
        return HTTP_QUEUED;
    case OUTPUT_FAILED:
        break;
    }
    stream_break(connection);
    return HTTP_BROKEN;
}

void http_stream_finish(struct http_stream *stream, char *frame, size_t len)
{
    struct connection *connection = connection_of(stream);
    char empty[2 * HTTP_FRAME_RESERVE];
    stream->owner = NULL;
    if (connection->state != CONNECTION_STREAM)
        return;
    if (connection->broken) {
        connection_close(connection, "gone");
        return;
    }
    struct text all = frame_wrap(connection->chunked, len ? frame : empty + HTTP_FRAME_RESERVE, len, true);
    connection->keep = connection->keep && !connection->server->draining;
    connection->state = CONNECTION_FLUSHING;
    if (all.len && connection_send(connection, all.at, all.len) == OUTPUT_FAILED)
        connection_close(connection, "gone");
    else
        connection_step(connection, (struct text){NULL, 0});
}

void http_stream_abort(struct http_stream *stream)
{
    struct connection *connection = connection_of(stream);
    stream->owner = NULL;
    connection_reset(connection, "aborted");
}

bool http_stream_busy(const struct http_stream *stream)
{
    return connection_of(stream)->pending > 0;
}

#include "common/http/exchange.h"

#include "common/base/clock.h"
#include "common/http/answer.h"
#include "common/http/connection.h"
#include "common/http/server_state.h"

#include <stdio.h>

static void peer_fill(struct http_request *request, const struct connection *connection)
{
    if (connection->peer_v6) {
        request->peer.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = connection->peer_port};
        memcpy(&request->peer.v6.sin6_addr, connection->peer_address, sizeof request->peer.v6.sin6_addr);
    } else {
        request->peer.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = connection->peer_port};
        memcpy(&request->peer.v4.sin_addr, connection->peer_address, sizeof request->peer.v4.sin_addr);
    }
}

struct http_request *exchange_create(struct connection *connection)
{
    struct http_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->connection = connection;
    request->label = "bad";
    request->started_ns = clock_mono_ns();
    buf_init(&request->block, HEAD_BYTES_MAX);
    buf_init(&request->ahead, EXCHANGE_AHEAD_MAX);
    head_init(&request->head);
    message_init(&request->message);
    peer_fill(request, connection);
    return request;
}

void exchange_destroy(struct http_request *request)
{
    buf_finish(&request->block);
    buf_finish(&request->ahead);
    message_finish(&request->message);
    free(request);
}

static void id_choose(struct http_request *request)
{
    request_id_choose(request->id, http_request_header(request, "x-request-id"),
                      http_request_header(request, "x-amzn-trace-id"));
}

void exchange_refuse(struct http_request *request, enum http_refusal refusal)
{
    const struct http_refusal_row *row = http_refusal_row(refusal);
    char allow[sizeof request->match.allow + 16] = "";
    if (refusal == REFUSE_VERB)
        snprintf(allow, sizeof allow, "Allow: %s\r\n", request->match.allow);
    if (!request->id[0])
        id_choose(request);
    http_respond_problem(request, &(struct http_problem){.status = row->status,
                                                         .code = row->code,
                                                         .title = row->title,
                                                         .detail = row->detail,
                                                         .headers = allow[0] ? allow : NULL,
                                                         .close = refusal != REFUSE_PATH && refusal != REFUSE_VERB});
}

static void body_begin(struct http_request *request)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct connection *connection = request->connection;
    if (!request->match.route) { /* nobody wants the body: answered without it, and the connection cannot go on */
        exchange_dispatch(request);
        return;
    }
    connection->state = CONNECTION_BODY;
    connection_deadline(connection, connection->server->settings.body_timeout_ms);
    if (request->head.expects && request->head.minor == 1 &&
        connection_send(connection, interim, sizeof interim - 1) == OUTPUT_FAILED)
        connection_close(connection, "gone");
}

static void head_complete(struct http_request *request)
{
    struct connection *connection = request->connection;
    struct http_server *server = connection->server;
    enum http_refusal refusal = REFUSE_NOT;
    id_choose(request);
    enum message_state state = message_head(&request->message, &request->head, request->block.data, &refusal);
    if (state == MESSAGE_REFUSED) {
        exchange_refuse(request, refusal);
        return;
    }
    if (connection->overflow) {
        overflow_respond(request);
        return;
    }
    router_find(server->settings.routes, server->settings.route_count, http_request_method(request),
                http_request_path(request), &request->match);
    request->label = request->match.route ? request->match.route->name : "none";
    if (state == MESSAGE_DONE)
        connection->state = CONNECTION_READY;
    else
        body_begin(request);
}

static void head_feed(struct http_request *request, struct text *in)
{
    size_t before = request->block.len;
    size_t take = in->len < HEAD_BYTES_MAX - before ? in->len : HEAD_BYTES_MAX - before;
    if (buf_append(&request->block, in->at, take) != OK) {
        connection_close(request->connection, "memory");
        return;
    }
    enum head_state state = head_step(&request->head, request->block.data, request->block.len);
    if (state == HEAD_DONE) { /* what follows the block goes back */
        take = request->head.len - before;
        request->block.len = request->head.len;
    }
    in->at += take;
    in->len -= take;
    if (state == HEAD_REFUSED)
        exchange_refuse(request, request->head.refusal);
    else if (state == HEAD_DONE)
        head_complete(request);
}

void exchange_feed(struct http_request *request, struct text *in)
{
    struct connection *connection = request->connection;
    enum http_refusal refusal = REFUSE_NOT;
    if (connection->state == CONNECTION_HEAD) {
        head_feed(request, in);
        return;
    }
    switch (message_body(&request->message, in, &refusal)) {
    case MESSAGE_MORE:
        break;
    case MESSAGE_DONE:
        connection->state = CONNECTION_READY;
        break;
    case MESSAGE_REFUSED:
        exchange_refuse(request, refusal);
        break;
    case MESSAGE_NOMEM:
        connection_close(connection, "memory");
        break;
    }
}

void exchange_dispatch(struct http_request *request)
{
    struct connection *connection = request->connection;
    struct http_server *server = connection->server;
    bool whole = connection->state == CONNECTION_READY;
    wheel_cancel(&server->wheel, &connection->deadline);
    connection->state = CONNECTION_HANDLING;
    if (request->match.route) {
        request->match.route->handle(request, server->settings.context);
        return;
    }
    request->head.close |= !whole;
    exchange_refuse(request, request->match.path_known ? REFUSE_VERB : REFUSE_PATH);
}

#include "common/http/response.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/http/answer.h"
#include "common/http/connection.h"
#include "common/http/exchange.h"
#include "common/http/server_state.h"

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

const char *answer_reason(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

bool answer_keeps(const struct http_request *request)
{
    const struct connection *connection = request->connection;
    const struct head *head = &request->head;
    return head->len && !head->close && (head->minor == 1 || head->keep_alive) && !connection->server->draining &&
           !connection->overflow && (!connection->ended || request->ahead.len > request->ahead_at);
}

void answer_done(const struct http_request *request, int status)
{
    const struct http_settings *settings = &request->connection->server->settings;
    if (!settings->on_done)
        return;
    struct http_done done = {request, request->label, status, clock_mono_ns() - request->started_ns};
    settings->on_done(settings->context, &done);
}

static bool without_body(int status)
{
    return status == 204 || status == 304;
}

static enum err framing_lines(struct buf *out, const struct http_response *response, enum answer_framing framing)
{
    if (framing == ANSWER_CHUNKED)
        return buf_text(out, TEXT("Transfer-Encoding: chunked\r\n"));
    if (framing == ANSWER_TO_END || without_body(response->status))
        return OK;
    return buf_format(out, "Content-Length: %zu\r\n", response->body.len);
}

static enum err owner_lines(struct buf *out, const struct http_request *request, const struct http_response *response)
{
    const struct http_settings *settings = &request->connection->server->settings;
    enum err err = response->headers ? buf_text(out, text_of(response->headers)) : OK;
    if (err != OK || !settings->extra_headers)
        return err;
    char lines[ANSWER_EXTRA_BYTES_MAX];
    size_t len = settings->extra_headers(settings->context, request, lines, sizeof lines);
    CHECK(len <= sizeof lines);
    return buf_append(out, lines, len);
}

enum err answer_head(struct buf *out, struct http_request *request, const struct http_response *response,
                     enum answer_framing framing, bool keep)
{
    const char *connection_line = !keep                      ? "Connection: close\r\n"
                                  : request->head.minor == 0 ? "Connection: keep-alive\r\n"
                                                             : "";
    enum err err = buf_reserve(out, 512 + response->body.len);
    if (err == OK)
        err = buf_format(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", response->status, answer_reason(response->status),
                         server_date(request->connection->server));
    if (err == OK && response->type)
        err = buf_format(out, "Content-Type: %s\r\n", response->type);
    if (err == OK)
        err = framing_lines(out, response, framing);
    if (err == OK)
        err = buf_format(out, "Cache-Control: %s\r\nX-Request-Id: %s\r\nX-Content-Type-Options: nosniff\r\n%s",
                         response->cache ? response->cache : "no-store", request->id, connection_line);
    if (err == OK)
        err = owner_lines(out, request, response);
    return err == OK ? buf_append(out, "\r\n", 2) : err;
}

void http_respond(struct http_request *request, const struct http_response *response)
{
    struct connection *connection = request->connection;
    struct buf out;
    buf_init(&out, ANSWER_BYTES_MAX);
    connection->keep = answer_keeps(request) && !response->close;
    enum err err = answer_head(&out, request, response, ANSWER_LENGTH, connection->keep);
    if (err == OK && !request->head.is_head && !without_body(response->status))
        err = buf_text(&out, response->body);
    connection->state = CONNECTION_FLUSHING;
    enum output output = err == OK ? connection_send(connection, out.data, out.len) : OUTPUT_FAILED;
    buf_finish(&out);
    answer_done(request, response->status);
    if (output == OUTPUT_FAILED)
        connection_close(connection, err == OK ? "gone" : "memory");
    else
        connection_step(connection, (struct text){NULL, 0});
}

void http_respond_problem(struct http_request *request, const struct http_problem *problem)
{
    struct buf json, headers;
    buf_init(&json, ANSWER_BYTES_MAX);
    buf_init(&headers, ANSWER_BYTES_MAX);
    enum err err = problem_write(&json, problem, request->id);
    if (err == OK && problem->retry_after_seconds)
        err = buf_format(&headers, "Retry-After: %u\r\n", problem->retry_after_seconds);
    if (err == OK && problem->headers)
        err = buf_text(&headers, text_of(problem->headers));
    if (err == OK)
        err = buf_append(&headers, "", 1);
    struct http_response response = {.status = problem->status, .close = true};
    if (err == OK) { /* else the bare status, for want of memory */
        response = (struct http_response){.status = problem->status,
                                          .type = "application/problem+json",
                                          .headers = headers.data,
                                          .body = buf_view(&json),
                                          .close = problem->close};
    }
    http_respond(request, &response);
    buf_finish(&json);
    buf_finish(&headers);
}

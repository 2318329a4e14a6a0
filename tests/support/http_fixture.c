#include "tests/support/http_fixture.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 5000
#define QUIET_TURNS 4 /* what one turn starts is at its end after a few more */
#define TURNS_MAX 10000
#define BIG_BYTES 1048576

static const struct text nothing = {NULL, 0};

/* ---- Handlers ---- */

static void hello(struct http_request *request, void *context)
{
    (void)context;
    http_respond(request, &(struct http_response){.status = 200, .type = "text/plain", .body = TEXT("hello")});
}

static void echo(struct http_request *request, void *context)
{
    (void)context;
    http_respond(request,
                 &(struct http_response){.status = 200, .type = "text/plain", .body = http_request_body(request)});
}

static void empty(struct http_request *request, void *context)
{
    (void)context;
    http_respond(request, &(struct http_response){.status = 204});
}

static void item(struct http_request *request, void *context)
{
    (void)context;
    http_respond(request, &(struct http_response){
                              .status = 200, .type = "text/plain", .body = http_request_segment(request, "item")});
}

static void big(struct http_request *request, void *context)
{
    (void)context;
    char *bytes = reallocarray(NULL, 1, BIG_BYTES); /* which nomem.h lets alone */
    assert_non_null(bytes);
    memset(bytes, 'b', BIG_BYTES);
    http_respond(request, &(struct http_response){.status = 200, .type = "text/plain", .body = {bytes, BIG_BYTES}});
    free(bytes);
}

static void on_gone(void *data)
{
    struct http_fixture *fixture = data;
    fixture->gone++;
    fixture->later = NULL;
}

static void later(struct http_request *request, void *context)
{
    struct http_fixture *fixture = context;
    fixture->laters++;
    fixture->later = request;
    http_request_on_gone(request, on_gone, fixture);
}

static void on_drain(void *data)
{
    ((struct http_fixture *)data)->drained++;
}

static void on_closed(void *data, const char *reason)
{
    struct http_fixture *fixture = data;
    fixture->stream_ends++;
    fixture->stream = NULL;
    snprintf(fixture->last_reason, sizeof fixture->last_reason, "%s", reason);
}

static const struct http_stream_owner owner = {on_drain, on_closed};

static void stream(struct http_request *request, void *context)
{
    struct http_fixture *fixture = context;
    char frame[HTTP_FRAME_RESERVE + 8 + HTTP_FRAME_RESERVE];
    memcpy(frame + HTTP_FRAME_RESERVE, "first;", 6);
    fixture->stream = http_stream_open(request, "text/event-stream", "X-Accel-Buffering: no\r\n",
                                       frame + HTTP_FRAME_RESERVE, 6, &owner, fixture);
}

static const struct route routes[] = {
    {"GET", "/hello", "hello", 0, hello},      {"HEAD", "/hello", "hello", 0, hello},
    {"POST", "/echo", "echo", 0, echo},        {"PUT", "/echo", "echo", 0, echo},
    {"PATCH", "/echo", "echo", 0, echo},       {"DELETE", "/echo", "echo", 0, echo},
    {"GET", "/empty", "empty", 0, empty},      {"GET", "/big", "big", 0, big},
    {"GET", "/items/{item}", "item", 0, item}, {"GET", "/later", "later", 0, later},
    {"GET", "/stream", "stream", 0, stream},   {"HEAD", "/stream", "stream", 0, stream},
};

static void on_done(void *context, const struct http_done *done)
{
    struct http_fixture *fixture = context;
    fixture->done_calls++;
    fixture->last_status = done->status;
    snprintf(fixture->last_route, sizeof fixture->last_route, "%s", done->route);
    snprintf(fixture->last_id, sizeof fixture->last_id, "%s", http_request_id(done->request));
}

/* ---- The server ---- */

void http_fixture_init(struct http_fixture *fixture)
{
    signal(SIGPIPE, SIG_IGN);
    *fixture = (struct http_fixture){0};
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    fixture->settings = http_settings_default();
    fixture->settings.loop = &fixture->loop;
    fixture->settings.routes = routes;
    fixture->settings.route_count = sizeof routes / sizeof routes[0];
    fixture->settings.context = fixture;
    fixture->settings.on_done = on_done;
}

void http_fixture_start(struct http_fixture *fixture)
{
    assert_int_equal(http_server_create(&fixture->server, &fixture->settings), OK);
    assert_int_equal(http_server_listen(fixture->server, "127.0.0.1:0", fixture->bound, sizeof fixture->bound), OK);
}

static void on_server_closed(void *data)
{
    ((struct http_fixture *)data)->closed = true;
}

static bool is_closed(void *data)
{
    return ((struct http_fixture *)data)->closed;
}

void http_fixture_close_server(struct http_fixture *fixture)
{
    http_server_close(fixture->server, on_server_closed, fixture);
    fixture->server = NULL;
    assert_false(fixture->closed);
}

void http_fixture_finish(struct http_fixture *fixture)
{
    if (fixture->server)
        http_fixture_close_server(fixture);
    assert_true(http_run_until(fixture, NULL, is_closed, fixture));
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
}

/* ---- Clients ---- */

void http_client_open(struct http_client *client, struct http_fixture *fixture, int receive_buffer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int64_t port;
    int on = 1;
    assert_int_equal(text_int(text_of(strrchr(fixture->bound, ':') + 1), 1, 65535, &port), OK);
    address.sin_port = htons((uint16_t)port);
    *client = (struct http_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(client->fd >= 0);
    buf_init(&client->in, 64u << 20);
    if (receive_buffer)
        setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    assert_int_equal(connect(client->fd, (const struct sockaddr *)&address, sizeof address), 0);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void http_client_send(struct http_client *client, struct text bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = send(client->fd, bytes.at, bytes.len, MSG_NOSIGNAL);
        if (sent < 0) /* the server may have refused and gone by now */
            return;
        bytes.at += sent;
        bytes.len -= (size_t)sent;
    }
}

void http_client_say(struct http_client *client, const char *string)
{
    http_client_send(client, text_of(string));
}

void http_client_read(struct http_client *client)
{
    char bytes[16384];
    while (!client->ended) {
        ssize_t len = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        client->reset = len < 0;
        client->ended = len <= 0;
        if (len > 0)
            assert_int_equal(buf_append(&client->in, bytes, (size_t)len), OK);
    }
}

void http_client_close(struct http_client *client)
{
    buf_finish(&client->in);
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

void http_run(struct http_fixture *fixture, struct http_client *client)
{
    struct pollfd events = {uv_backend_fd(&fixture->loop), POLLIN, 0};
    int quiet = 0;
    for (int turns = 0; quiet < QUIET_TURNS && turns < TURNS_MAX; turns++) {
        bool busy = uv_backend_timeout(&fixture->loop) == 0 || poll(&events, 1, 0) > 0;
        quiet = busy ? 0 : quiet + 1;
        uv_run(&fixture->loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(quiet, QUIET_TURNS);
    if (client)
        http_client_read(client);
}

bool http_run_until(struct http_fixture *fixture, struct http_client *client, bool (*done)(void *data), void *data)
{
    uint64_t end = clock_mono_ms() + PATIENCE_MS;
    for (;;) {
        uv_run(&fixture->loop, UV_RUN_NOWAIT);
        if (client)
            http_client_read(client);
        if (done(data))
            return true;
        uint64_t now = clock_mono_ms();
        if (now >= end)
            return false;
        int wait = uv_backend_timeout(&fixture->loop);
        if (wait < 0 || (uint64_t)wait > end - now)
            wait = (int)(end - now);
        struct pollfd fds[] = {{uv_backend_fd(&fixture->loop), POLLIN, 0},
                               {client && !client->ended ? client->fd : -1, POLLIN, 0}};
        poll(fds, 2, wait);
    }
}

/* ---- Answers ---- */

static struct text header_of(struct text head, const char *name)
{
    struct text line;
    while (text_next(&head, '\n', &line)) {
        struct text key, value = line;
        if (text_next(&value, ':', &key) && value.at && text_equal_nocase(key, text_of(name))) {
            if (value.len && value.at[value.len - 1] == '\r')
                value.len--;
            return text_trim(value);
        }
    }
    return nothing;
}

struct text http_answer_header(const struct http_answer *answer, const char *name)
{
    return header_of(answer->head, name);
}

struct waiting {
    struct http_client *client;
    struct http_answer answer;
    bool head;
};

static bool answer_there(void *data)
{
    struct waiting *waiting = data;
    struct text all = buf_view(&waiting->client->in);
    struct http_answer *answer = &waiting->answer;
    const char *end = all.len ? memmem(all.at, all.len, "\r\n\r\n", 4) : NULL;
    if (!end || all.len < 12)
        return false;
    int64_t status, length = 0;
    assert_int_equal(text_int((struct text){all.at + 9, 3}, 100, 599, &status), OK);
    answer->status = (int)status;
    answer->head = (struct text){all.at, (size_t)(end + 4 - all.at)};
    struct text given = header_of(answer->head, "content-length");
    if (given.at && !waiting->head)
        assert_int_equal(text_int(given, 0, INT64_MAX, &length), OK);
    if (!given.at && status != 204 && status != 304 && status >= 200 && !waiting->head) {
        if (!waiting->client->ended)
            return false;
        length = (int64_t)(all.len - answer->head.len);
    }
    answer->body = (struct text){end + 4, (size_t)length};
    answer->len = answer->head.len + answer->body.len;
    return answer->len <= all.len;
}

struct http_answer http_expect(struct http_fixture *fixture, struct http_client *client, bool head)
{
    struct waiting waiting = {.client = client, .head = head};
    if (!http_run_until(fixture, client, answer_there, &waiting))
        fail_msg("no answer; got \"%.*s\"", (int)client->in.len, client->in.data ? client->in.data : "");
    return waiting.answer;
}

void http_answer_drop(struct http_client *client, const struct http_answer *answer)
{
    buf_consume(&client->in, answer->len);
}

static bool has_ended(void *data)
{
    return ((struct http_client *)data)->ended;
}

void http_expect_end(struct http_fixture *fixture, struct http_client *client)
{
    if (!http_run_until(fixture, client, has_ended, client))
        fail_msg("the connection did not end");
}

struct counting {
    const int *counter;
    int wanted;
};

static bool has_counted(void *data)
{
    const struct counting *counting = data;
    return *counting->counter >= counting->wanted;
}

void http_expect_count(struct http_fixture *fixture, struct http_client *client, const int *counter, int wanted)
{
    struct counting counting = {counter, wanted};
    if (!http_run_until(fixture, client, has_counted, &counting))
        fail_msg("counted %d instead of %d", *counter, wanted);
}

bool text_contains(struct text text, const char *part)
{
    return text.len && memmem(text.at, text.len, part, strlen(part)) != NULL;
}

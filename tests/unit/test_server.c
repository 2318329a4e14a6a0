#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/clock.h"
#include "common/http/connection.h"
#include "common/http/exchange.h"
#include "common/http/server_state.h"
#include "tests/support/http_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define HELLO "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
#define LATER "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"

static struct http_fixture fixture;
static struct http_client client;

static void start(void)
{
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, 0);
}

static int setup(void **state)
{
    (void)state;
    http_fixture_init(&fixture);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    http_client_close(&client);
    http_fixture_finish(&fixture);
    return 0;
}

static void expect_body(const char *body)
{
    struct http_answer answer = http_expect(&fixture, &client, false);
    if (!text_is(answer.body, body))
        fail_msg("got \"%.*s\" instead of \"%s\"", (int)answer.len, client.in.data, body);
    http_answer_drop(&client, &answer);
}

/* The answer's status; the connection must end after it. */
static int expect_refusal(const char *code)
{
    struct http_answer answer = http_expect(&fixture, &client, false);
    int status = answer.status;
    assert_true(text_contains(answer.body, code));
    assert_true(text_is(http_answer_header(&answer, "connection"), "close"));
    http_expect_end(&fixture, &client);
    assert_false(client.reset);
    return status;
}

static void an_open_connection_is_small(void **state)
{
    (void)state;
    start();
    assert_true(sizeof(struct connection) <= 400);
}

static void a_connection_serves_several_requests(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 3; i++) {
        http_client_say(&client, HELLO);
        expect_body("hello");
        http_client_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
        expect_body("body");
    }
    assert_int_equal(http_server_connections(fixture.server), 1);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct buf all;
    (void)state;
    start();
    buf_init(&all, 1u << 20);
    for (int i = 0; i < 300; i++)
        assert_int_equal(buf_format(&all, "GET /items/%d HTTP/1.1\r\nHost: a\r\n\r\n", i), OK);
    http_client_send(&client, buf_view(&all));
    buf_finish(&all);
    for (int i = 0; i < 300; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "%d", i);
        expect_body(wanted);
    }
}

/* Until OPEN connections are there and DONE requests answered; no turn of the loop takes more than its share of either.
 */
static void run_in_turns(size_t open, int done)
{
    uint64_t end = clock_mono_ms() + 5000;
    while (http_server_connections(fixture.server) < open || fixture.done_calls < done) {
        size_t open_before = http_server_connections(fixture.server);
        int done_before = fixture.done_calls;
        uv_run(&fixture.loop, UV_RUN_NOWAIT);
        assert_true(http_server_connections(fixture.server) - open_before <= SERVER_SLICE + 1);
        assert_true(fixture.done_calls - done_before <= 2 * SERVER_SLICE);
        assert_true(clock_mono_ms() < end);
    }
}

static void a_long_pipeline_keeps_nobody_waiting(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 1000; i++)
        http_client_say(&client, HELLO);
    run_in_turns(1, 1000);
    for (int i = 0; i < 1000; i++)
        expect_body("hello");
}

static void a_crowd_of_newcomers_leaves_the_loop_time_for_others(void **state)
{
    enum { CROWD = 300 };
    static struct http_client crowd[CROWD];
    (void)state;
    http_fixture_start(&fixture);
    client.fd = -1;
    for (int i = 0; i < CROWD; i++)
        http_client_open(&crowd[i], &fixture, 0);
    run_in_turns(CROWD, 0);
    for (int i = 0; i < CROWD; i++)
        http_client_say(&crowd[i], HELLO);
    run_in_turns(CROWD, CROWD);
    for (int i = 0; i < CROWD; i++)
        http_client_close(&crowd[i]);
}

static void a_pipeline_is_answered_though_its_client_says_no_more(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 100; i++)
        http_client_say(&client, HELLO);
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    for (int i = 0; i < 100; i++)
        expect_body("hello");
    http_expect_end(&fixture, &client);
}

static bool stream_has_ended(void *data)
{
    (void)data;
    return fixture.stream_ends == 1;
}

static void a_stream_whose_client_left_while_it_waited_ends_at_once(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 100; i++)
        http_client_say(&client, HELLO);
    http_client_say(&client, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    for (int i = 0; i < 100; i++)
        expect_body("hello");
    assert_true(http_run_until(&fixture, &client, stream_has_ended, NULL));
}

static void half_a_request_at_the_end_of_a_pipeline_is_dropped_with_the_client(void **state)
{
    (void)state;
    start();
    http_client_say(&client, HELLO HELLO "GET /hel");
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    expect_body("hello");
    expect_body("hello");
    http_expect_end(&fixture, &client);
    assert_int_equal(http_server_connections(fixture.server), 0);
}

static void the_next_request_waits_for_the_answer(void **state)
{
    (void)state;
    start();
    http_client_say(&client, LATER HELLO LATER);
    http_expect_count(&fixture, &client, &fixture.laters, 1);
    http_run(&fixture, &client);
    assert_int_equal(client.in.len, 0);
    http_respond(fixture.later, &(struct http_response){.status = 200, .type = "text/plain", .body = TEXT("one")});
    expect_body("one");
    expect_body("hello");
    assert_int_equal(fixture.laters, 2);
    http_respond(fixture.later, &(struct http_response){.status = 200, .type = "text/plain", .body = TEXT("two")});
    expect_body("two");
}

static void what_comes_while_a_request_waits_is_bounded_and_not_lost(void **state)
{
    static char bytes[400000];
    size_t len = 0;
    int count = 0;
    (void)state;
    start();
    http_client_say(&client, LATER);
    http_expect_count(&fixture, &client, &fixture.laters, 1);
    while (len + 64 < sizeof bytes) {
        len += (size_t)snprintf(bytes + len, sizeof bytes - len, HELLO);
        count++;
    }
    for (size_t at = 0; at < len;) { /* as much as server and kernel take */
        ssize_t sent = send(client.fd, bytes + at, len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        http_run(&fixture, &client);
        if (sent > 0)
            at += (size_t)sent;
        if (fixture.later && (sent <= 0 || at == len)) {
            assert_true(fixture.later->ahead.len <= EXCHANGE_AHEAD_MAX);
            assert_true(fixture.later->ahead.len > EXCHANGE_AHEAD_PAUSE);
            http_respond(fixture.later, &(struct http_response){.status = 204});
            fixture.later = NULL;
        }
    }
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.status, 204);
    http_answer_drop(&client, &answer);
    for (int i = 0; i < count; i++)
        expect_body("hello");
}

static void http_1_0_ends_unless_it_asks_to_go_on(void **state)
{
    (void)state;
    start();
    http_client_say(&client, "GET /hello HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_true(text_is(http_answer_header(&answer, "connection"), "keep-alive"));
    http_answer_drop(&client, &answer);
    http_client_say(&client, "GET /hello HTTP/1.0\r\nHost: a\r\n\r\n");
    answer = http_expect(&fixture, &client, false);
    assert_true(text_is(http_answer_header(&answer, "connection"), "close"));
    http_expect_end(&fixture, &client);
    assert_false(client.reset);
}

static void connection_close_is_honoured(void **state)
{
    (void)state;
    start();
    http_client_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n" HELLO);
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_true(text_is(http_answer_header(&answer, "connection"), "close"));
    http_expect_end(&fixture, &client);
    assert_int_equal(client.in.len, answer.len);
    assert_int_equal(fixture.done_calls, 1);
}

static void an_unknown_path_is_404_and_the_connection_goes_on(void **state)
{
    (void)state;
    start();
    http_client_say(&client, "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n" HELLO);
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.status, 404);
    assert_true(text_contains(answer.body, "\"code\":\"not-found\""));
    assert_string_equal(fixture.last_route, "none");
    http_answer_drop(&client, &answer);
    expect_body("hello");
    assert_string_equal(fixture.last_route, "hello");
}

static void an_unknown_method_of_a_path_is_405_with_allow(void **state)
{
    (void)state;
    start();
    http_client_say(&client, "DELETE /hello HTTP/1.1\r\nHost: a\r\n\r\n" HELLO);
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.status, 405);
    assert_true(text_is(http_answer_header(&answer, "allow"), "GET, HEAD"));
    http_answer_drop(&client, &answer);
    expect_body("hello");
}

static void a_body_for_nobody_is_not_awaited(void **state)
{
    (void)state;
    start();
    http_client_say(&client, "POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
    assert_int_equal(expect_refusal("not-found"), 404);
    assert_string_equal(fixture.last_route, "none");
}

static void a_body_that_is_announced_is_asked_for(void **state)
{
    (void)state;
    start();
    http_client_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.status, 100);
    http_answer_drop(&client, &answer);
    http_client_say(&client, "abc");
    expect_body("abc");
}

static void a_body_may_have_65536_bytes(void **state)
{
    static char body[65536];
    (void)state;
    start();
    memset(body, 'x', sizeof body);
    http_client_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n");
    http_client_send(&client, (struct text){body, sizeof body});
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.body.len, sizeof body);
    http_answer_drop(&client, &answer);
    http_client_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n");
    http_client_send(&client, (struct text){body, sizeof body});
    assert_int_equal(expect_refusal("payload-too-large"), 413);
}

static void a_slow_header_is_408(void **state)
{
    uint64_t began = clock_mono_ms();
    (void)state;
    fixture.settings.header_timeout_ms = 100;
    start();
    http_client_say(&client, "GET /hello HTT");
    assert_int_equal(expect_refusal("request-timeout"), 408);
    assert_true(clock_mono_ms() - began >= 100);
    assert_string_equal(fixture.last_route, "bad");
}

static void drops_of_header_bytes_do_not_win_time(void **state)
{
    uint64_t began = clock_mono_ms();
    (void)state;
    fixture.settings.header_timeout_ms = 150;
    start();
    http_client_say(&client, HELLO);
    expect_body("hello");
    http_client_say(&client, "GET /hello HTTP/1.1\r\nX: ");
    for (int drops = 0; !client.in.len && clock_mono_ms() - began < 4000; drops++) {
        if (drops < 8000) /* or the block grows too large */
            http_client_say(&client, "x");
        http_run(&fixture, &client);
    }
    assert_int_equal(expect_refusal("request-timeout"), 408);
}

static void a_slow_body_is_408(void **state)
{
    (void)state;
    fixture.settings.body_timeout_ms = 100;
    start();
    http_client_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    assert_int_equal(expect_refusal("request-timeout"), 408);
    assert_string_equal(fixture.last_route, "echo");
}

static void a_connection_without_a_request_is_closed_silently(void **state)
{
    (void)state;
    fixture.settings.header_timeout_ms = 100;
    start();
    http_expect_end(&fixture, &client);
    assert_int_equal(client.in.len, 0);
    assert_int_equal(fixture.done_calls, 0);
}

static void an_idle_connection_is_closed_silently(void **state)
{
    (void)state;
    fixture.settings.keepalive_ms = 100;
    start();
    http_client_say(&client, HELLO);
    expect_body("hello");
    http_expect_end(&fixture, &client);
    assert_int_equal(client.in.len, 0);
    assert_false(client.reset);
}

static void a_client_that_leaves_before_the_answer_is_noticed(void **state)
{
    (void)state;
    start();
    http_client_say(&client, LATER);
    http_expect_count(&fixture, &client, &fixture.laters, 1);
    http_client_close(&client);
    http_expect_count(&fixture, NULL, &fixture.gone, 1);
    assert_int_equal(fixture.done_calls, 1);
    assert_int_equal(fixture.last_status, 0);
    assert_string_equal(fixture.last_route, "later");
    assert_int_equal(http_server_connections(fixture.server), 0);
}

static void a_taken_back_gone_callback_stays_silent(void **state)
{
    (void)state;
    start();
    http_client_say(&client, LATER);
    http_expect_count(&fixture, &client, &fixture.laters, 1);
    http_request_on_gone(fixture.later, NULL, NULL);
    http_client_close(&client);
    http_expect_count(&fixture, NULL, &fixture.done_calls, 1);
    assert_int_equal(fixture.gone, 0);
}

static void a_client_that_only_shuts_its_side_still_gets_a_ready_answer(void **state)
{
    (void)state;
    fixture.settings.send_buffer_bytes = 8192;
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, 4096);
    http_client_say(&client, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    shutdown(client.fd, SHUT_WR);
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.body.len, 1048576);
    http_expect_end(&fixture, &client);
    assert_int_equal(fixture.last_status, 200);
}

static void a_client_that_does_not_read_its_answer_is_dropped(void **state)
{
    (void)state;
    fixture.settings.send_buffer_bytes = 8192;
    fixture.settings.stall_timeout_ms = 100;
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, 4096);
    for (int i = 0; i < 50; i++)
        http_client_say(&client, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    http_expect_count(&fixture, NULL, &fixture.done_calls, 1);
    uint64_t end = clock_mono_ms() + 5000;
    while (http_server_connections(fixture.server) && clock_mono_ms() < end)
        uv_run(&fixture.loop, UV_RUN_ONCE);
    assert_int_equal(http_server_connections(fixture.server), 0);
    assert_int_equal(fixture.done_calls, 1); /* the other 49 never became answers in memory */
}

static void one_connection_too_many_is_refused_after_its_request(void **state)
{
    struct http_client late;
    (void)state;
    fixture.settings.connections_max = 1;
    start();
    http_client_say(&client, HELLO);
    expect_body("hello");
    http_client_open(&late, &fixture, 0);
    http_client_say(&late, HELLO);
    struct http_answer answer = http_expect(&fixture, &late, false);
    assert_int_equal(answer.status, 503);
    assert_true(text_is(http_answer_header(&answer, "retry-after"), "5"));
    assert_true(text_contains(answer.body, "too-many-connections"));
    assert_string_equal(fixture.last_route, "overflow");
    http_expect_end(&fixture, &late);
    assert_false(late.reset);
    assert_int_equal(http_server_connections(fixture.server), 1);
    http_client_close(&late);
    http_client_say(&client, HELLO);
    expect_body("hello");
}

static bool has_ended(void *data)
{
    return ((struct http_client *)data)->ended;
}

static void one_too_many_has_little_time_though_it_waits_for_its_turn(void **state)
{
    enum { MOST = 130, LATE = 24 };
    static struct http_client inside[MOST], late[LATE];
    (void)state;
    fixture.settings.connections_max = MOST;
    http_fixture_start(&fixture);
    client.fd = -1;
    for (size_t i = 0; i < MOST; i++)
        http_client_open(&inside[i], &fixture, 0);
    http_run(&fixture, NULL);
    for (size_t i = 0; i < LATE; i++)
        http_client_open(&late[i], &fixture, 0);
    http_run(&fixture, NULL);
    for (size_t i = 0; i < MOST; i++) /* more than there are turns between two polls */
        http_client_say(&inside[i], HELLO);
    for (size_t i = 0; i < LATE; i++)
        http_client_say(&late[i], "G");
    uint64_t begun_ms = clock_mono_ms();
    for (size_t i = 0; i < LATE; i++)
        assert_true(http_run_until(&fixture, &late[i], has_ended, &late[i]));
    assert_true(clock_mono_ms() - begun_ms < 4000); /* a header may take longer */
    for (size_t i = 0; i < LATE; i++)
        http_client_close(&late[i]);
    for (size_t i = 0; i < MOST; i++)
        http_client_close(&inside[i]);
}

static void an_event_source_too_many_is_told_to_come_back(void **state)
{
    struct http_client late;
    int64_t retry = 0;
    struct text line, body;
    (void)state;
    fixture.settings.connections_max = 0;
    start();
    http_client_open(&late, &fixture, 0);
    http_client_say(&late, "GET /stream HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &late, false);
    assert_int_equal(answer.status, 200);
    assert_true(text_is(http_answer_header(&answer, "content-type"), "text/event-stream"));
    assert_true(text_is(http_answer_header(&answer, "connection"), "close"));
    assert_true(text_contains(answer.body, "\nevent: unavailable\ndata: {"));
    assert_true(text_contains(answer.body, "too-many-connections"));
    body = answer.body;
    assert_true(text_next(&body, '\n', &line) && text_starts(line, "retry: "));
    assert_int_equal(text_int((struct text){line.at + 7, line.len - 7}, 5000, 30000, &retry), OK);
    http_expect_end(&fixture, &late);
    http_client_close(&late);
}

static void far_too_many_connections_are_closed_unread(void **state)
{
    struct http_client many[20];
    size_t refused = 0;
    (void)state;
    fixture.settings.connections_max = 0; /* then 16 may wait for their refusal */
    http_fixture_start(&fixture);
    client.fd = -1;
    for (size_t i = 0; i < 20; i++)
        http_client_open(&many[i], &fixture, 0);
    http_run(&fixture, NULL);
    for (size_t i = 0; i < 20; i++) {
        http_client_read(&many[i]);
        refused += many[i].ended;
        http_client_close(&many[i]);
    }
    assert_int_equal(refused, 4);
}

static void running_out_of_descriptors_turns_newcomers_away_without_spinning(void **state)
{
    struct http_client many[8];
    struct rlimit limit, tight;
    (void)state;
    start();
    http_client_say(&client, HELLO);
    expect_body("hello");
    for (size_t i = 0; i < 8; i++) /* connected, in the backlog */
        http_client_open(&many[i], &fixture, 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    tight = limit;
    tight.rlim_cur = (rlim_t)many[7].fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    for (size_t i = 0; i < 8; i++)
        http_expect_end(&fixture, &many[i]);
    http_client_say(&client, HELLO);
    expect_body("hello");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < 8; i++)
        http_client_close(&many[i]);
    http_client_open(&many[0], &fixture, 0);
    http_client_say(&many[0], HELLO);
    assert_int_equal(http_expect(&fixture, &many[0], false).status, 200);
    http_client_close(&many[0]);
}

static void draining_ends_each_connection_with_its_next_answer(void **state)
{
    (void)state;
    start();
    http_client_say(&client, HELLO);
    expect_body("hello");
    http_server_stop_listening(fixture.server);
    http_server_drain(fixture.server);
    http_client_say(&client, HELLO);
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_true(text_is(http_answer_header(&answer, "connection"), "close"));
    http_expect_end(&fixture, &client);
}

static void closing_works_in_every_state(void **state)
{
    static const char *const beginnings[] = {
        "",
        "GET /hel",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
        LATER,
        LATER HELLO,
        HELLO,
        "GET /big HTTP/1.1\r\nHost: a\r\n\r\n",
        "BAD\r\n",
        "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    struct http_client clients[sizeof beginnings / sizeof beginnings[0]];
    (void)state;
    fixture.settings.send_buffer_bytes = 8192;
    http_fixture_start(&fixture);
    client.fd = -1;
    for (size_t i = 0; i < sizeof clients / sizeof clients[0]; i++) {
        http_client_open(&clients[i], &fixture, 4096);
        http_client_say(&clients[i], beginnings[i]);
    }
    http_run(&fixture, NULL);
    assert_int_equal(fixture.laters, 2);
    http_fixture_close_server(&fixture);
    assert_int_equal(fixture.gone, 2);
    assert_int_equal(fixture.stream_ends, 1);
    assert_string_equal(fixture.last_reason, "closing");
    for (size_t i = 0; i < sizeof clients / sizeof clients[0]; i++)
        http_client_close(&clients[i]);
}

static void the_peer_is_known(void **state)
{
    struct sockaddr_in own = {0};
    socklen_t len = sizeof own;
    (void)state;
    start();
    http_client_say(&client, LATER);
    http_expect_count(&fixture, &client, &fixture.laters, 1);
    getsockname(client.fd, (struct sockaddr *)&own, &len);
    const struct sockaddr_in *peer = (const struct sockaddr_in *)(const void *)http_request_peer(fixture.later);
    assert_int_equal(peer->sin_family, AF_INET);
    assert_int_equal(peer->sin_port, own.sin_port);
    assert_int_equal(peer->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
}

static void only_addresses_can_be_listened_on(void **state)
{
    static const char *const bad[] = {"",      "8080",  "localhost:8080",  "127.0.0.1",     "127.0.0.1:",
                                      "::1:x", "[::1]", "127.0.0.1:65536", "[127.0.0.1]:1", "127.0.0.1:-1"};
    char bound[64];
    (void)state;
    start();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(http_server_listen(fixture.server, bad[i], bound, sizeof bound), ERR_INVALID);
    assert_int_equal(http_server_listen(fixture.server, fixture.bound, bound, sizeof bound), ERR_IO);
    if (http_server_listen(fixture.server, "[::1]:0", bound, sizeof bound) == OK)
        assert_true(text_starts(text_of(bound), "[::1]:"));
}

static void two_servers_may_share_a_port_when_told_so(void **state)
{
    struct http_server *second;
    struct http_settings settings;
    char bound[64];
    (void)state;
    fixture.settings.reuseport = true;
    start();
    settings = fixture.settings;
    assert_int_equal(http_server_create(&second, &settings), OK);
    assert_int_equal(http_server_listen(second, fixture.bound, bound, sizeof bound), OK);
    assert_string_equal(bound, fixture.bound);
    http_server_close(second, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_open_connection_is_small, setup, teardown),
        cmocka_unit_test_setup_teardown(a_connection_serves_several_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(pipelined_requests_are_answered_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_pipeline_keeps_nobody_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(a_crowd_of_newcomers_leaves_the_loop_time_for_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pipeline_is_answered_though_its_client_says_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stream_whose_client_left_while_it_waited_ends_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(half_a_request_at_the_end_of_a_pipeline_is_dropped_with_the_client, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_next_request_waits_for_the_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(what_comes_while_a_request_waits_is_bounded_and_not_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(http_1_0_ends_unless_it_asks_to_go_on, setup, teardown),
        cmocka_unit_test_setup_teardown(connection_close_is_honoured, setup, teardown),
        cmocka_unit_test_setup_teardown(an_unknown_path_is_404_and_the_connection_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(an_unknown_method_of_a_path_is_405_with_allow, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_for_nobody_is_not_awaited, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_that_is_announced_is_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_may_have_65536_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_header_is_408, setup, teardown),
        cmocka_unit_test_setup_teardown(drops_of_header_bytes_do_not_win_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_body_is_408, setup, teardown),
        cmocka_unit_test_setup_teardown(a_connection_without_a_request_is_closed_silently, setup, teardown),
        cmocka_unit_test_setup_teardown(an_idle_connection_is_closed_silently, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_that_leaves_before_the_answer_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_taken_back_gone_callback_stays_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_that_only_shuts_its_side_still_gets_a_ready_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_that_does_not_read_its_answer_is_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(one_connection_too_many_is_refused_after_its_request, setup, teardown),
        cmocka_unit_test_setup_teardown(one_too_many_has_little_time_though_it_waits_for_its_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(an_event_source_too_many_is_told_to_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(far_too_many_connections_are_closed_unread, setup, teardown),
        cmocka_unit_test_setup_teardown(running_out_of_descriptors_turns_newcomers_away_without_spinning, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(draining_ends_each_connection_with_its_next_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(closing_works_in_every_state, setup, teardown),
        cmocka_unit_test_setup_teardown(the_peer_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(only_addresses_can_be_listened_on, setup, teardown),
        cmocka_unit_test_setup_teardown(two_servers_may_share_a_port_when_told_so, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

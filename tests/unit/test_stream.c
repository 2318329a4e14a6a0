#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/clock.h"
#include "tests/support/http_fixture.h"

#include <sys/socket.h>

#define STREAM "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"

static struct http_fixture fixture;
static struct http_client client;
static char frame_bytes[HTTP_FRAME_RESERVE + HTTP_FRAME_MAX + HTTP_FRAME_RESERVE];
static char *const frame = frame_bytes + HTTP_FRAME_RESERVE;

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

static bool stream_is_open(void *data)
{
    (void)data;
    return fixture.stream != NULL && client.in.len > 0;
}

static void open_stream(const char *request, int send_buffer, int receive_buffer)
{
    fixture.settings.send_buffer_bytes = (uint32_t)send_buffer;
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, receive_buffer);
    http_client_say(&client, request);
    assert_true(http_run_until(&fixture, &client, stream_is_open, NULL));
}

static char *fill(const char *payload)
{
    memcpy(frame, payload, strlen(payload));
    return frame;
}

/* Decodes what has come after the head; true once the last chunk was seen. */
static bool decode(struct buf *out)
{
    struct text all = buf_view(&client.in);
    const char *at = memmem(all.at, all.len, "\r\n\r\n", 4), *end = all.at + all.len;
    assert_non_null(at);
    at += 4;
    buf_finish(out);
    while (at < end) {
        const char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
        if (!line)
            return false;
        size_t len = strtoul(at, NULL, 16);
        at = line + 2;
        if ((size_t)(end - at) < len + 2)
            return false;
        assert_memory_equal(at + len, "\r\n", 2);
        if (len == 0)
            return true;
        assert_int_equal(buf_append(out, at, len), OK);
        at += len + 2;
    }
    return false;
}

static bool stream_over(void *data)
{
    return decode(data);
}

static void expect_stream(const char *payload)
{
    struct buf out;
    buf_init(&out, 64u << 20);
    assert_true(http_run_until(&fixture, &client, stream_over, &out));
    assert_true(text_is(buf_view(&out), payload));
    buf_finish(&out);
}

static void frames_arrive_as_chunks_and_the_connection_goes_on(void **state)
{
    (void)state;
    open_stream(STREAM, 0, 0);
    assert_true(text_contains(buf_view(&client.in), "Transfer-Encoding: chunked\r\n"));
    assert_true(text_contains(buf_view(&client.in), "X-Accel-Buffering: no\r\n"));
    assert_false(text_contains(buf_view(&client.in), "Content-Length"));
    assert_int_equal(http_stream_send(fixture.stream, fill("second;"), 7), HTTP_SENT);
    assert_int_equal(http_stream_send(fixture.stream, frame, 0), HTTP_SENT);
    assert_false(http_stream_busy(fixture.stream));
    http_stream_finish(fixture.stream, fill("last"), 4);
    expect_stream("first;second;last");
    client.in.len = 0;
    http_client_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_true(text_is(answer.body, "hello"));
    assert_int_equal(fixture.stream_ends + fixture.drained, 0);
}

static void frames_of_every_size_keep_their_framing(void **state)
{
    static const size_t sizes[] = {1, 15, 16, 255, 256, 4094, HTTP_FRAME_MAX};
    struct buf out;
    size_t total = 6;
    (void)state;
    open_stream(STREAM, 0, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memset(frame, 'x', sizes[i]);
        assert_int_equal(http_stream_send(fixture.stream, frame, sizes[i]), HTTP_SENT);
        total += sizes[i];
    }
    http_stream_finish(fixture.stream, NULL, 0);
    buf_init(&out, 64u << 20);
    assert_true(http_run_until(&fixture, &client, stream_over, &out));
    assert_int_equal(out.len, total);
    buf_finish(&out);
}

static void http_1_0_streams_end_with_the_connection(void **state)
{
    (void)state;
    open_stream("GET /stream HTTP/1.0\r\nHost: a\r\n\r\n", 0, 0);
    assert_true(text_contains(buf_view(&client.in), "Connection: close\r\n"));
    assert_false(text_contains(buf_view(&client.in), "chunked"));
    assert_int_equal(http_stream_send(fixture.stream, fill("second;"), 7), HTTP_SENT);
    http_stream_finish(fixture.stream, fill("last"), 4);
    http_expect_end(&fixture, &client);
    assert_true(text_contains(buf_view(&client.in), "\r\n\r\nfirst;second;last"));
    assert_false(client.reset);
}

static void head_of_a_stream_opens_none(void **state)
{
    (void)state;
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, 0);
    http_client_say(&client, "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &client, true);
    assert_int_equal(answer.status, 200);
    assert_null(fixture.stream);
}

static void a_client_that_leaves_ends_the_stream(void **state)
{
    (void)state;
    open_stream(STREAM, 0, 0);
    http_client_close(&client);
    http_expect_count(&fixture, NULL, &fixture.stream_ends, 1);
    assert_string_equal(fixture.last_reason, "gone");
}

static void a_reset_found_by_a_send_is_told_later_from_the_loop(void **state)
{
    struct linger linger = {1, 0};
    enum http_sent sent = HTTP_SENT;
    (void)state;
    open_stream(STREAM, 0, 0);
    setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    http_client_close(&client);
    for (int i = 0; i < 3 && sent == HTTP_SENT; i++)
        sent = http_stream_send(fixture.stream, fill("x"), 1);
    assert_int_equal(sent, HTTP_BROKEN);
    assert_int_equal(fixture.stream_ends, 0);
    assert_int_equal(http_stream_send(fixture.stream, fill("x"), 1), HTTP_BROKEN);
    http_expect_count(&fixture, NULL, &fixture.stream_ends, 1);
}

/* Sends until the stream is full; how many frames it took. */
static int send_until_full(size_t len)
{
    memset(frame, 'x', len);
    for (int count = 1; count < 100000; count++)
        if (http_stream_send(fixture.stream, frame, len) == HTTP_QUEUED)
            return count;
    fail_msg("the stream never filled");
    return 0;
}

static void a_full_stream_takes_nothing_until_it_drains(void **state)
{
    struct buf out;
    (void)state;
    open_stream(STREAM, 8192, 4096);
    int frames = send_until_full(1000);
    assert_true(http_stream_busy(fixture.stream));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(http_stream_send(fixture.stream, frame, 1000), HTTP_BUSY);
    assert_int_equal(fixture.drained, 0);
    http_expect_count(&fixture, &client, &fixture.drained, 1);
    assert_false(http_stream_busy(fixture.stream));
    memset(frame, 'x', 1000);
    assert_int_equal(http_stream_send(fixture.stream, frame, 1000), HTTP_SENT);
    http_stream_finish(fixture.stream, NULL, 0);
    buf_init(&out, 64u << 20);
    assert_true(http_run_until(&fixture, &client, stream_over, &out));
    assert_int_equal(out.len, 6 + (size_t)(frames + 1) * 1000);
    buf_finish(&out);
}

static void the_end_waits_behind_what_is_queued(void **state)
{
    struct buf out;
    (void)state;
    open_stream(STREAM, 8192, 4096);
    int frames = send_until_full(1000);
    http_stream_finish(fixture.stream, fill("last"), 4);
    buf_init(&out, 64u << 20);
    assert_true(http_run_until(&fixture, &client, stream_over, &out));
    assert_int_equal(out.len, 6 + (size_t)frames * 1000 + 4);
    assert_memory_equal(out.data + out.len - 4, "last", 4);
    assert_int_equal(fixture.drained, 0);
    buf_finish(&out);
}

static void a_client_that_reads_nothing_is_stalled(void **state)
{
    (void)state;
    fixture.settings.stall_timeout_ms = 100;
    open_stream(STREAM, 8192, 4096);
    send_until_full(1000);
    http_expect_count(&fixture, NULL, &fixture.stream_ends, 1);
    assert_string_equal(fixture.last_reason, "stalled");
    assert_int_equal(http_server_connections(fixture.server), 0);
}

static void a_stalled_end_is_dropped_without_a_word(void **state)
{
    (void)state;
    fixture.settings.stall_timeout_ms = 100;
    open_stream(STREAM, 8192, 4096);
    send_until_full(1000);
    http_stream_finish(fixture.stream, NULL, 0);
    uint64_t end = clock_mono_ms() + 5000;
    while (http_server_connections(fixture.server) && clock_mono_ms() < end)
        uv_run(&fixture.loop, UV_RUN_ONCE);
    assert_int_equal(http_server_connections(fixture.server), 0);
    assert_int_equal(fixture.stream_ends, 0);
}

static void an_aborted_stream_is_gone_at_once(void **state)
{
    (void)state;
    open_stream(STREAM, 8192, 4096);
    send_until_full(1000);
    http_stream_abort(fixture.stream);
    assert_int_equal(http_server_connections(fixture.server), 0);
    http_expect_end(&fixture, &client);
    assert_int_equal(fixture.stream_ends, 0);
}

static void bytes_during_a_stream_end_the_connection_with_it(void **state)
{
    (void)state;
    open_stream(STREAM, 0, 0);
    http_client_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    http_run(&fixture, &client);
    http_stream_finish(fixture.stream, fill("last"), 4);
    expect_stream("first;last");
    http_expect_end(&fixture, &client);
    assert_false(text_contains(buf_view(&client.in), "hello"));
    assert_int_equal(fixture.done_calls, 1);
}

static void bytes_behind_the_request_end_the_connection_with_the_stream(void **state)
{
    (void)state;
    open_stream(STREAM "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 0, 0);
    http_stream_finish(fixture.stream, NULL, 0);
    expect_stream("first;");
    http_expect_end(&fixture, &client);
    assert_int_equal(fixture.done_calls, 1);
}

static void a_client_may_send_16384_bytes_during_a_stream(void **state)
{
    static char bytes[16384];
    (void)state;
    open_stream(STREAM, 0, 0);
    http_client_send(&client, (struct text){bytes, sizeof bytes});
    http_run(&fixture, &client);
    assert_int_equal(fixture.stream_ends, 0);
    http_client_say(&client, "x");
    http_expect_count(&fixture, &client, &fixture.stream_ends, 1);
    assert_string_equal(fixture.last_reason, "flood");
}

static void a_stream_ends_its_connection_while_draining(void **state)
{
    (void)state;
    open_stream(STREAM, 0, 0);
    http_server_drain(fixture.server);
    http_stream_finish(fixture.stream, NULL, 0);
    expect_stream("first;");
    http_expect_end(&fixture, &client);
}

static void a_server_that_closes_tells_its_streams(void **state)
{
    (void)state;
    open_stream(STREAM, 8192, 4096);
    send_until_full(1000);
    http_fixture_close_server(&fixture);
    assert_int_equal(fixture.stream_ends, 1);
    assert_string_equal(fixture.last_reason, "closing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_arrive_as_chunks_and_the_connection_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(frames_of_every_size_keep_their_framing, setup, teardown),
        cmocka_unit_test_setup_teardown(http_1_0_streams_end_with_the_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(head_of_a_stream_opens_none, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_that_leaves_ends_the_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reset_found_by_a_send_is_told_later_from_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_stream_takes_nothing_until_it_drains, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_waits_behind_what_is_queued, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_that_reads_nothing_is_stalled, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stalled_end_is_dropped_without_a_word, setup, teardown),
        cmocka_unit_test_setup_teardown(an_aborted_stream_is_gone_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_during_a_stream_end_the_connection_with_it, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_behind_the_request_end_the_connection_with_the_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_may_send_16384_bytes_during_a_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stream_ends_its_connection_while_draining, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_closes_tells_its_streams, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

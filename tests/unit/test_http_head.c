#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/buf.h"
#include "common/http/head.h"
#include "tests/support/http_fixture.h"

struct sample {
    const char *bytes;
    size_t len;
    int status; /* of the refusal; 0: accepted by the checker */
};

#define SAMPLE(literal, status)              \
    {                                        \
        literal, sizeof(literal) - 1, status \
    }
#define GET(lines, status) SAMPLE("GET /hello HTTP/1.1\r\n" lines "\r\n", status)
#define POST(lines, body, status) SAMPLE("POST /echo HTTP/1.1\r\nHost: a\r\n" lines "\r\n" body, status)
#define LINE(line, status) SAMPLE(line "\r\nHost: a\r\n\r\n", status)

static const struct sample samples[] = {
    LINE("GET /hello HTTP/1.1", 0),
    LINE("GET /hello HTTP/1.0", 0),
    LINE("GET /hello?a=%zz&\"|\\^`{} HTTP/1.1", 0),
    LINE("HEAD /hello HTTP/1.1", 0),
    GET("Host: example.com:8080\r\n", 0),
    GET("Host: [::1]:8080\r\n", 0),
    GET("hOST:\ta \t\r\n", 0),
    GET("Host: a\r\nX:\r\n", 0),
    GET("Host: a\r\nX: caf\xc3\xa9\tok\r\n", 0),
    GET("Host: a\r\nContent-Length: 0\r\n", 0),
    GET("Host: a\r\nConnection: keep-alive, upgrade\r\nUpgrade: h2c\r\n", 0),
    POST("Content-Length: 3\r\n", "abc", 0),
    POST("Transfer-Encoding: CHUNKED\r\n", "1\r\na\r\n0\r\n\r\n", 0),
    POST("", "", 0),
    /* the request line */
    SAMPLE("\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    SAMPLE("\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    LINE("GET  /hello HTTP/1.1", 400),
    LINE("GET /hello  HTTP/1.1", 400),
    LINE("GET /hello HTTP/1.1 ", 400),
    LINE(" GET /hello HTTP/1.1", 400),
    LINE("GET\t/hello HTTP/1.1", 400),
    LINE("GET /hello\tHTTP/1.1", 400),
    LINE("GET /hello", 400),
    LINE("GET", 400),
    LINE("GET /hello HTTP/0.9", 400),
    LINE("GET /hello HTTP/1.2", 400),
    LINE("GET /hello HTTP/2.0", 400),
    LINE("GET /hello http/1.1", 400),
    LINE("GET /hello HTTP/1.10", 400),
    LINE("GET /hello RTSP/1.0", 400),
    LINE("G@T /hello HTTP/1.1", 400),
    LINE("get /hello HTTP/1.1", 501),
    LINE("BREW /hello HTTP/1.1", 501),
    LINE("TRACE /hello HTTP/1.1", 501),
    LINE("CONNECT a:443 HTTP/1.1", 501),
    LINE("GET http://a/hello HTTP/1.1", 400),
    LINE("OPTIONS * HTTP/1.1", 400),
    LINE("GET hello HTTP/1.1", 400),
    LINE("GET /hello#x HTTP/1.1", 400),
    LINE("GET /h\x7fllo HTTP/1.1", 400),
    LINE("GET /h\xc3\xa9llo HTTP/1.1", 400),
    LINE("GET /h\001llo HTTP/1.1", 400),
    LINE("GET /h\000llo HTTP/1.1", 400),
    SAMPLE("\026\003\001\002", 400), /* TLS */
    /* line ends and control characters */
    SAMPLE("GET /hello HTTP/1.1\nHost: a\n\n", 400),
    SAMPLE("GET /hello HTTP/1.1\r\nHost: a\n\r\n", 400),
    SAMPLE("GET /hello HTTP/1.1\r\nHost: a\r\n\rX", 400),
    SAMPLE("GET /hello HTTP/1.1\rHost: a\r\n\r\n", 400),
    GET("Host: a\r\nX: 1\rY: 2\r\n", 400),
    GET("Host: a\r\nX: 1\nY: 2\r\n", 400),
    GET("Host: a\r\nX: 1\r\r\n", 400),
    GET("Host: a\r\nX: \000\r\n", 400),
    GET("Host: a\r\nX: \001\r\n", 400),
    GET("Host: a\r\nX: \x7f\r\n", 400),
    /* fields */
    GET("Host: a\r\n X: 1\r\n", 400),
    GET("Host: a\r\nX: 1\r\n\tfolded\r\n", 400),
    GET("Host: a\r\nX : 1\r\n", 400),
    GET("Host: a\r\n: 1\r\n", 400),
    GET("Host: a\r\nX\r\n", 400),
    GET("Host: a\r\nX Y: 1\r\n", 400),
    GET("Host: a\r\nX\xc3\xa9: 1\r\n", 400),
    /* Host */
    GET("", 400),
    SAMPLE("GET /hello HTTP/1.0\r\n\r\n", 400),
    GET("Host: a\r\nHost: a\r\n", 400),
    GET("Host:\r\n", 400),
    GET("Host: a b\r\n", 400),
    GET("Host: a/b\r\n", 400),
    GET("Host: x@a\r\n", 400),
    GET("Host: a,b\r\n", 400),
    /* framing */
    POST("Content-Length: 3\r\nContent-Length: 3\r\n", "abc", 400),
    POST("Content-Length: 3, 3\r\n", "abc", 400),
    POST("Content-Length: +3\r\n", "abc", 400),
    POST("Content-Length: -3\r\n", "abc", 400),
    POST("Content-Length: -0\r\n", "abc", 400),
    POST("Content-Length: 03\r\n", "abc", 400),
    POST("Content-Length: 0x3\r\n", "abc", 400),
    POST("Content-Length: 3 x\r\n", "abc", 400),
    POST("Content-Length:\r\n", "abc", 400),
    POST("Content-Length: 18446744073709551619\r\n", "abc", 400),
    POST("Content_Length: 3\r\n", "abc", 400),
    POST("Content-Length: 65537\r\n", "", 413),
    POST("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", 400),
    POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", 400),
    POST("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n", 501),
    POST("Transfer-Encoding: identity\r\n", "0\r\n\r\n", 501),
    POST("Transfer-Encoding: chunked;x\r\n", "0\r\n\r\n", 501),
    POST("Transfer-Encoding:\r\n", "0\r\n\r\n", 501),
    POST("Transfer_Encoding: chunked\r\n", "0\r\n\r\n", 400),
    POST("TransferEncoding: chunked\r\n", "0\r\n\r\n", 400),
    SAMPLE("POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    GET("Host: a\r\nContent-Length: 1\r\n", 400),
    GET("Host: a\r\nTransfer-Encoding: chunked\r\n", 400),
    POST("Expect: 200-ok\r\n", "", 417),
};
#define SAMPLE_COUNT (sizeof samples / sizeof samples[0])

/* How the checker ends when the bytes come in pieces cut at CUT. */
static enum head_state check(struct head *head, const struct sample *sample, size_t cut)
{
    head_init(head);
    enum head_state state = head_step(head, sample->bytes, cut);
    return state == HEAD_MORE ? head_step(head, sample->bytes, sample->len) : state;
}

static void the_checker_says_the_same_however_the_bytes_are_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        for (size_t cut = 0; cut <= samples[i].len; cut++) {
            struct head head;
            enum head_state verdict = check(&head, &samples[i], cut);
            int status = verdict == HEAD_REFUSED ? http_refusal_row(head.refusal)->status : 0;
            if (status != samples[i].status || verdict == HEAD_MORE)
                fail_msg("sample %zu cut at %zu: %d instead of %d: %s", i, cut, status, samples[i].status,
                         samples[i].bytes);
        }
    }
}

/* A send of the first half is with the server before its loop runs: loopback delivers at once. */
static int status_live(struct http_fixture *fixture, const struct sample *sample, size_t cut)
{
    struct http_client client;
    http_client_open(&client, fixture, 0);
    http_client_send(&client, (struct text){sample->bytes, cut});
    http_run(fixture, NULL);
    http_client_send(&client, (struct text){sample->bytes + cut, sample->len - cut});
    struct http_answer answer = http_expect(fixture, &client, strncmp(sample->bytes, "HEAD", 4) == 0);
    int status = answer.status;
    if (sample->status) {
        assert_true(text_is(http_answer_header(&answer, "connection"), "close"));
        assert_true(text_is(http_answer_header(&answer, "content-type"), "application/problem+json"));
        assert_true(text_is(http_answer_header(&answer, "cache-control"), "no-store"));
        http_expect_end(fixture, &client);
        assert_false(client.reset);
        assert_int_equal(client.in.len, answer.len);
    }
    http_client_close(&client);
    return status;
}

static void the_server_says_the_same_however_the_bytes_are_cut(void **state)
{
    struct http_fixture fixture;
    int requests = 0;
    (void)state;
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        for (size_t cut = 0; cut <= samples[i].len; cut++, requests++) {
            int status = status_live(&fixture, &samples[i], cut);
            if (status != (samples[i].status ? samples[i].status : 200))
                fail_msg("sample %zu cut at %zu: %d: %s", i, cut, status, samples[i].bytes);
        }
    }
    assert_int_equal(fixture.done_calls, requests);
    http_fixture_finish(&fixture);
}

/* ---- Limits ---- */

static enum http_refusal verdict(const struct buf *bytes)
{
    struct head head;
    head_init(&head);
    enum head_state state = head_step(&head, bytes->data, bytes->len);
    assert_int_not_equal(state, HEAD_MORE);
    return head.refusal;
}

static void a_target_may_have_8192_bytes(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct buf bytes;
        buf_init(&bytes, 32768);
        assert_int_equal(buf_format(&bytes, "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n", HEAD_TARGET_MAX - 1 + extra, 0),
                         OK);
        assert_int_equal(verdict(&bytes), extra ? REFUSE_TARGET_LONG : REFUSE_NOT);
        buf_finish(&bytes);
    }
}

static void a_block_may_have_16384_bytes(void **state)
{
    (void)state;
    const char start[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    for (int extra = 0; extra < 2; extra++) {
        struct buf bytes;
        buf_init(&bytes, 32768);
        assert_int_equal(
            buf_format(&bytes, "%s%0*d\r\n\r\n", start, HEAD_BYTES_MAX - (int)(sizeof start - 1) - 4 + extra, 0), OK);
        assert_int_equal(bytes.len, HEAD_BYTES_MAX + extra);
        assert_int_equal(verdict(&bytes), extra ? REFUSE_HEAD_LONG : REFUSE_NOT);
        buf_finish(&bytes);
    }
}

static void a_block_may_have_100_fields(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct buf bytes;
        buf_init(&bytes, 32768);
        assert_int_equal(buf_format(&bytes, "GET / HTTP/1.1\r\nHost: a\r\n"), OK);
        for (int i = 1; i < HEAD_FIELDS_MAX + extra; i++)
            assert_int_equal(buf_format(&bytes, "X: %d\r\n", i), OK);
        assert_int_equal(buf_format(&bytes, "\r\n"), OK);
        assert_int_equal(verdict(&bytes), extra ? REFUSE_FIELDS : REFUSE_NOT);
        buf_finish(&bytes);
    }
}

static void every_refusal_has_its_row(void **state)
{
    (void)state;
    for (enum http_refusal refusal = REFUSE_NOT + 1; refusal < HTTP_REFUSAL_COUNT; refusal++) {
        const struct http_refusal_row *row = http_refusal_row(refusal);
        assert_true(row->status >= 400 && row->status < 600);
        assert_true(row->code && row->title && row->detail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checker_says_the_same_however_the_bytes_are_cut),
        cmocka_unit_test(the_server_says_the_same_however_the_bytes_are_cut),
        cmocka_unit_test(a_target_may_have_8192_bytes),
        cmocka_unit_test(a_block_may_have_16384_bytes),
        cmocka_unit_test(a_block_may_have_100_fields),
        cmocka_unit_test(every_refusal_has_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

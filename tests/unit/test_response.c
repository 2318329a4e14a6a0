#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/http/answer.h"
#include "tests/support/http_fixture.h"

#include <jansson.h>

static void a_problem_is_json_whatever_it_quotes(void **state)
{
    char json[1024];
    struct http_problem problem = {.status = 409,
                                   .code = "not-started",
                                   .title = "Conflict",
                                   .detail = "You sent \"\r\n\\\xff<script>\".",
                                   .retry_after_seconds = 7,
                                   .extra = ",\"startsAt\":\"x\""};
    (void)state;
    size_t len = http_problem_json(&problem, "id-1", json, sizeof json);
    json_t *root = json_loadb(json, len, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "type")), "/problems/not-started");
    assert_string_equal(json_string_value(json_object_get(root, "code")), "not-started");
    assert_string_equal(json_string_value(json_object_get(root, "title")), "Conflict");
    assert_int_equal(json_integer_value(json_object_get(root, "status")), 409);
    assert_string_equal(json_string_value(json_object_get(root, "instance")), "id-1");
    assert_int_equal(json_integer_value(json_object_get(root, "retryAfterSeconds")), 7);
    assert_string_equal(json_string_value(json_object_get(root, "startsAt")), "x");
    json_decref(root);
    assert_int_equal(http_problem_json(&problem, "id-1", json, len), len);
    assert_int_equal(http_problem_json(&problem, "id-1", json, len - 1), 0);
}

static size_t vary(void *context, const struct http_request *request, char *dst, size_t size)
{
    (void)context;
    (void)request;
    return (size_t)snprintf(dst, size, "Vary: Origin\r\n");
}

static void every_answer_has_the_common_headers(void **state)
{
    struct http_fixture fixture;
    struct http_client client;
    (void)state;
    http_fixture_init(&fixture);
    fixture.settings.extra_headers = vary;
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, 0);
    http_client_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\nX-Request-Id: req-7\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_true(text_starts(answer.head, "HTTP/1.1 200 OK\r\n"));
    assert_true(text_is(http_answer_header(&answer, "content-length"), "5"));
    assert_true(text_is(http_answer_header(&answer, "content-type"), "text/plain"));
    assert_true(text_is(http_answer_header(&answer, "cache-control"), "no-store"));
    assert_true(text_is(http_answer_header(&answer, "x-request-id"), "req-7"));
    assert_true(text_is(http_answer_header(&answer, "x-content-type-options"), "nosniff"));
    assert_true(text_is(http_answer_header(&answer, "vary"), "Origin"));
    assert_int_equal(http_answer_header(&answer, "date").len, strlen("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_null(http_answer_header(&answer, "connection").at);
    assert_string_equal(fixture.last_id, "req-7");
    assert_string_equal(fixture.last_route, "hello");
    http_answer_drop(&client, &answer);

    http_client_say(&client, "GET /empty HTTP/1.1\r\nHost: a\r\n\r\n");
    answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.status, 204);
    assert_null(http_answer_header(&answer, "content-length").at);
    assert_int_equal(http_answer_header(&answer, "x-request-id").len, 32);
    http_client_close(&client);
    http_fixture_finish(&fixture);
}

static void head_gets_the_headers_without_the_body(void **state)
{
    struct http_fixture fixture;
    struct http_client client;
    (void)state;
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, 0);
    http_client_say(&client, "HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &client, true);
    assert_int_equal(answer.status, 200);
    assert_true(text_is(http_answer_header(&answer, "content-length"), "5"));
    http_run(&fixture, &client);
    assert_int_equal(client.in.len, answer.len);
    http_answer_drop(&client, &answer);
    http_client_say(&client, "HEAD /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
    answer = http_expect(&fixture, &client, true);
    assert_int_equal(answer.status, 404);
    http_run(&fixture, &client);
    assert_int_equal(client.in.len, answer.len);
    http_client_close(&client);
    http_fixture_finish(&fixture);
}

static void an_answer_larger_than_the_socket_takes_arrives_whole(void **state)
{
    struct http_fixture fixture;
    struct http_client client;
    (void)state;
    http_fixture_init(&fixture);
    fixture.settings.send_buffer_bytes = 8192;
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, 4096);
    http_client_say(&client, "GET /big HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.body.len, 1048576);
    http_answer_drop(&client, &answer);
    answer = http_expect(&fixture, &client, false);
    assert_true(text_is(answer.body, "hello"));
    assert_true(http_server_sent_bytes(fixture.server) > 1048576);
    http_client_close(&client);
    http_fixture_finish(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_problem_is_json_whatever_it_quotes),
        cmocka_unit_test(every_answer_has_the_common_headers),
        cmocka_unit_test(head_gets_the_headers_without_the_body),
        cmocka_unit_test(an_answer_larger_than_the_socket_takes_arrives_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

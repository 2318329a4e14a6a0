#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "common/base/buf.h"
#include "common/http/exchange.h"
#include "common/http/head.h"
#include "common/http/request_id.h"

/* A request as the accessors see it, without a connection. */
static void request_init(struct http_request *request, const char *bytes)
{
    *request = (struct http_request){0};
    buf_init(&request->block, HEAD_BYTES_MAX);
    assert_int_equal(buf_text(&request->block, text_of(bytes)), OK);
    head_init(&request->head);
    assert_int_equal(head_step(&request->head, request->block.data, request->block.len), HEAD_DONE);
}

static void request_finish(struct http_request *request)
{
    buf_finish(&request->block);
}

static void a_request_gives_its_parts(void **state)
{
    struct http_request request;
    (void)state;
    request_init(&request,
                 "GET /a/b?x=1&y HTTP/1.0\r\nHost: h\r\nX-A:  1 \r\nx-a: 2\r\nCookie: c=1\r\nCookie: d=2; c=3\r\n"
                 "\r\n");
    assert_true(text_is(http_request_method(&request), "GET"));
    assert_true(text_is(http_request_path(&request), "/a/b"));
    assert_true(text_is(http_request_query(&request), "x=1&y"));
    assert_int_equal(http_request_minor(&request), 0);
    assert_true(text_is(http_request_header(&request, "x-A"), "1"));
    assert_int_equal(http_request_header_count(&request, "X-A"), 2);
    assert_true(text_is(http_request_header_at(&request, "X-A", 1), "2"));
    assert_null(http_request_header_at(&request, "X-A", 2).at);
    assert_null(http_request_header(&request, "X-B").at);
    assert_true(text_is(http_request_cookie(&request, "c"), "1"));
    assert_true(text_is(http_request_cookie(&request, "d"), "2"));
    assert_null(http_request_cookie(&request, "e").at);
    assert_null(http_request_body(&request).at);
    request_finish(&request);
}

static void a_target_without_question_mark_has_no_query(void **state)
{
    struct http_request request;
    (void)state;
    request_init(&request, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_null(http_request_query(&request).at);
    request_finish(&request);
    request_init(&request, "GET /a? HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_non_null(http_request_query(&request).at);
    assert_int_equal(http_request_query(&request).len, 0);
    request_finish(&request);
}

static void unknown_parameters_are_noticed(void **state)
{
    static const struct {
        const char *query;
        bool only;
    } rows[] = {
        {"", true},         {"?", true},   {"?limit=1&after=2", true}, {"?%6cimit", true},  {"?limit=1&&", true},
        {"?limt=1", false}, {"?=", false}, {"?limit=1&x", false},      {"?Limit=1", false}, {"?limit%00=1", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_request request;
        char bytes[128];
        snprintf(bytes, sizeof bytes, "GET /a%s HTTP/1.1\r\nHost: h\r\n\r\n", rows[i].query);
        request_init(&request, bytes);
        assert_int_equal(http_request_params_only(&request, "limit after"), rows[i].only);
        assert_int_equal(http_request_params_only(&request, ""), i < 2);
        request_finish(&request);
    }
}

static void parameters_are_decoded_and_must_be_given_once(void **state)
{
    static const struct {
        const char *query;
        enum err err;
        const char *value;
    } rows[] = {
        {"a=1", OK, "1"},
        {"b=2&a=1", OK, "1"},
        {"a=x%20y+z", OK, "x y z"},
        {"a=", OK, ""},
        {"a", OK, ""},
        {"%61=1", OK, "1"},
        {"b=1", ERR_MISSING, ""},
        {"", ERR_MISSING, ""},
        {"A=1", ERR_MISSING, ""},
        {"a=1&a=1", ERR_INVALID, ""},
        {"a=1&%61=2", ERR_INVALID, ""},
        {"a=%", ERR_INVALID, ""},
        {"a=%0", ERR_INVALID, ""},
        {"a=%zz", ERR_INVALID, ""},
        {"a=%00", ERR_INVALID, ""},
        {"a=1234567", OK, "1234567"},
        {"a=12345678", ERR_TOO_BIG, ""},
        {"%zz=1&a=1", OK, "1"},
        {"a=b=c", OK, "b=c"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_request request;
        char line[128], value[8] = "";
        snprintf(line, sizeof line, "GET /?%s HTTP/1.1\r\nHost: h\r\n\r\n", rows[i].query);
        request_init(&request, line);
        enum err err = http_request_param(&request, "a", value, sizeof value);
        if (err != rows[i].err || strcmp(value, rows[i].value) != 0)
            fail_msg("%s: %s, \"%s\"", rows[i].query, err_text(err), value);
        request_finish(&request);
    }
}

static void a_request_id_is_taken_over_only_when_harmless(void **state)
{
    char id[REQUEST_ID_LEN_MAX + 1], longest[REQUEST_ID_LEN_MAX + 2];
    (void)state;
    request_id_choose(id, TEXT("abc-1"), TEXT("Root=1-2;x"));
    assert_string_equal(id, "abc-1");
    request_id_choose(id, TEXT("a b"), TEXT("Root=1-67891233-abcdef012345678912345678"));
    assert_string_equal(id, "Root=1-67891233-abcdef012345678912345678");
    request_id_choose(id, TEXT("a\"b"), (struct text){NULL, 0});
    assert_int_equal(strlen(id), 32);
    memset(longest, 'a', sizeof longest);
    assert_true(request_id_valid((struct text){longest, REQUEST_ID_LEN_MAX}));
    assert_false(request_id_valid((struct text){longest, REQUEST_ID_LEN_MAX + 1}));
    assert_false(request_id_valid(TEXT("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_gives_its_parts),
        cmocka_unit_test(a_target_without_question_mark_has_no_query),
        cmocka_unit_test(unknown_parameters_are_noticed),
        cmocka_unit_test(parameters_are_decoded_and_must_be_given_once),
        cmocka_unit_test(a_request_id_is_taken_over_only_when_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

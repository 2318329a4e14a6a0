#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/http/head.h"
#include "common/http/message.h"
#include "tests/support/http_fixture.h"

#define HEAD "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
#define EXT64 "0123456789012345678901234567890123456789012345678901234567890123"

static const struct {
    const char *bytes, *body; /* NULL: refused */
    int status;
} samples[] = {
    {"0\r\n\r\n", "", 200},
    {"3\r\nabc\r\n0\r\n\r\n", "abc", 200},
    {"3\r\nabc\r\n2\r\nde\r\n000\r\n\r\n", "abcde", 200},
    {"A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 200},
    {"a;x=y\r\n0123456789\r\n0;z\r\n\r\n", "0123456789", 200},
    {"3\r\n\r\n\n\r\n0\r\n\r\n", "\r\n\n", 200},
    {"3;x=" EXT64 EXT64 EXT64 "\r\nabc\r\n0\r\n\r\n", "abc", 200},
    {"3;x=" EXT64 EXT64 EXT64 EXT64 "\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"3\nabc\r\n0\r\n\r\n", NULL, 400},
    {"3\r\nabc\n0\r\n\r\n", NULL, 400},
    {"3\r\nabc0\r\n\r\n", NULL, 400},
    {"3\r\nabc\rX0\r\n\r\n", NULL, 400},
    {"3\rXabc\r\n0\r\n\r\n", NULL, 400},
    {"3\r\nabc\r\n0\r\nX: y\r\n\r\n", NULL, 400},
    {"3\r\nabc\r\n0\r\n\n", NULL, 400},
    {"3\r\nabc\r\n0\r\n\rX", NULL, 400},
    {"3\r\nabc\r\n0\n\n", NULL, 400},
    {"\r\n3\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"+3\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"-3\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"0x3\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {" 3\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"3 \r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"3 ;x\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"3g\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"3;x\ny\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"3;x=\"\001\"\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {";x\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"000000003\r\nabc\r\n0\r\n\r\n", NULL, 400},
    {"10001\r\n", NULL, 413},
    {"ffffffff\r\n", NULL, 413},
    {"3\r\nabc\r\nfffe\r\n", NULL, 413},
};

static void check_live(struct http_fixture *fixture, size_t i, size_t cut)
{
    struct http_client client;
    struct text body = text_of(samples[i].bytes);
    http_client_open(&client, fixture, 0);
    http_client_say(&client, HEAD);
    http_client_send(&client, (struct text){body.at, cut});
    http_run(fixture, NULL);
    http_client_send(&client, (struct text){body.at + cut, body.len - cut});
    struct http_answer answer = http_expect(fixture, &client, false);
    if (answer.status != samples[i].status)
        fail_msg("sample %zu cut at %zu: %d", i, cut, answer.status);
    if (samples[i].body)
        assert_true(text_is(answer.body, samples[i].body));
    else
        http_expect_end(fixture, &client);
    http_client_close(&client);
}

static void chunked_bodies_are_strict_however_they_are_cut(void **state)
{
    struct http_fixture fixture;
    (void)state;
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        for (size_t cut = 0; cut <= strlen(samples[i].bytes); cut++)
            check_live(&fixture, i, cut);
    http_fixture_finish(&fixture);
}

static void what_follows_the_last_chunk_is_the_next_request(void **state)
{
    struct http_fixture fixture;
    struct http_client client;
    (void)state;
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    http_client_open(&client, &fixture, 0);
    http_client_say(&client, HEAD "3\r\nabc\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_true(text_is(answer.body, "abc"));
    http_answer_drop(&client, &answer);
    answer = http_expect(&fixture, &client, false);
    assert_true(text_is(answer.body, "hello"));
    http_client_close(&client);
    http_fixture_finish(&fixture);
}

static void a_chunked_body_may_have_65536_bytes(void **state)
{
    struct chunks chunks;
    enum http_refusal refusal;
    (void)state;
    chunks_init(&chunks);
    assert_int_equal(chunks_step(&chunks, "10000\r\n", 7, &refusal), 7);
    assert_int_equal(refusal, REFUSE_NOT);
    chunks_init(&chunks);
    assert_int_equal(chunks_step(&chunks, "10001\r\n", 7, &refusal), 6);
    assert_int_equal(refusal, REFUSE_BODY_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunked_bodies_are_strict_however_they_are_cut),
        cmocka_unit_test(what_follows_the_last_chunk_is_the_next_request),
        cmocka_unit_test(a_chunked_body_may_have_65536_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

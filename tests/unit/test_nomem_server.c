/* Memory runs out at every allocation while a client is served, one after the other: it gets a whole answer or a closed
 * connection, the server goes on with the next one, and nothing is leaked. */
#include "tests/support/unit.h"

#include "tests/support/http_fixture.h"
#include "tests/support/nomem.h"

#define SWEEP_MAX 500
#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static struct http_fixture fixture;

/* What a client says, piece by piece: the loop runs between them. */
static const struct scene {
    const char *name, *pieces[6];
    int status; /* of the first answer, with memory; 0: none comes yet */
} scenes[] = {
    {"a request", {GET("/hello")}, 200},
    {"a head in pieces", {"GET /items/a%20b?x=1 HT", "TP/1.1\r\nHost: a\r\nCookie: b=c\r\n", "\r\n"}, 200},
    {"a body", {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", "01234", "56789"}, 200},
    {"a chunked body",
     {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n", "5\r\nhello\r\n",
      "6;a=b\r\n world\r\n0\r\n\r\n"},
     100},
    {"pipelined requests", {GET("/hello") GET("/hello") GET("/items/x"), GET("/hello")}, 200},
    {"a long answer", {GET("/big")}, 200},
    {"a refusal", {"GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"}, 400},
    {"no such path", {GET("/nowhere")}, 404},
    {"another method", {"DELETE /hello HTTP/1.1\r\nHost: a\r\n\r\n"}, 405},
    {"a body too long", {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n"}, 413},
    {"a stream", {GET("/stream"), "ignored"}, 200},
    {"an answer that waits", {GET("/later"), GET("/hello")}, 0},
};

static int status_of(const struct http_client *client)
{
    int64_t status = 0;
    return client->in.len >= 12 && text_int((struct text){client->in.data + 9, 3}, 100, 599, &status) == OK
               ? (int)status
               : 0;
}

static bool told(void *data)
{
    const struct http_client *client = data;
    return client->ended || status_of(client);
}

/* True: an allocation failed. */
static bool play(const struct scene *scene, size_t n)
{
    struct http_client client;
    http_client_open(&client, &fixture, 0);
    nomem_arm(n);
    for (size_t i = 0; i < 6 && scene->pieces[i]; i++) {
        http_client_say(&client, scene->pieces[i]);
        http_run(&fixture, NULL); /* the client's own memory is no part of this */
    }
    bool failed = nomem_disarm();
    http_run(&fixture, &client);
    if (scene->status) /* a newcomer that memory had no room for is taken at the server's next look */
        assert_true(http_run_until(&fixture, &client, told, &client));
    int status = status_of(&client);
    if (failed) {
        if (status != scene->status && status != 503 && !(status == 0 && client.ended))
            fail_msg("%s, %zu: status %d%s", scene->name, n, status, client.ended ? ", ended" : "");
    } else {
        assert_int_equal(status, scene->status);
    }
    http_client_close(&client);
    http_run(&fixture, NULL);
    fixture.stream = NULL;
    return failed;
}

static void served(void)
{
    struct http_client client;
    http_client_open(&client, &fixture, 0);
    http_client_say(&client, GET("/hello"));
    struct http_answer answer = http_expect(&fixture, &client, false);
    assert_int_equal(answer.status, 200);
    assert_true(text_is(answer.body, "hello"));
    http_client_close(&client);
    http_run(&fixture, NULL);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    size_t total = 0;
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    served();
    for (size_t i = 0; i < ROWS(scenes); i++) {
        size_t n = 0;
        while (play(&scenes[i], n)) {
            served();
            assert_true(++n < SWEEP_MAX);
        }
        assert_true(n > 1); /* else nothing was swept */
        print_message("%s: %zu allocations\n", scenes[i].name, n);
        total += n;
    }
    print_message("%zu in all\n", total);
    http_fixture_finish(&fixture);
}

static void a_server_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 0; failed; n++) {
        http_fixture_init(&fixture);
        nomem_arm(n);
        enum err err = http_server_create(&fixture.server, &fixture.settings);
        if (err == OK)
            err = http_server_listen(fixture.server, "127.0.0.1:0", fixture.bound, sizeof fixture.bound);
        failed = nomem_disarm();
        assert_true(err == (failed ? ERR_NOMEM : OK));
        if (!fixture.server)
            fixture.closed = true;
        http_fixture_finish(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_server_that_cannot_be_made_leaves_nothing),
    };
    nomem_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

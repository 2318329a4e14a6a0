/* Memory runs out at every allocation of the Redis client, one after the other: each call fails at once or ends exactly
 * once, the connection comes back, and nothing is leaked. */
#include "tests/support/nomem.h"
#include "tests/support/redis_fake.h"
#include "tests/support/redis_fixture.h"
#include "tests/support/unit.h"

#define SWEEP_MAX 500

static struct redis_fixture fixture;
static struct redis_fake fake;
static struct redis_script script = {.name = "s", .body = "return {1, 2, 3}"};

static const struct fake_rule rules[] = {
    {.command = "GET", .answer = "$5\r\nvalue\r\n"},
    {.command = "HGETALL", .answer = "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n*2\r\n:1\r\n$-1\r\n"},
    {.command = "EVALSHA", .answer = "-NOSCRIPT No matching script.\r\n"},
    {.command = "EVAL", .answer = "*3\r\n:1\r\n:2\r\n:3\r\n"},
    {.command = "SUBSCRIBE",
     .answer = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n"},
};

static bool call(struct outcome *outcome, const char *words)
{
    return redis_fixture_call(&fixture, outcome, 3000, words) == OK;
}

/* Connects, asks in every way there is, and looks at each outcome. */
static bool play(size_t n, bool subscriber)
{
    struct outcome outcomes[4] = {{0}};
    bool taken[4] = {false};
    redis_fixture_init(&fixture, "redis://127.0.0.1");
    redis_fake_start(&fake, &fixture.loop, rules, ROWS(rules));
    const char *why;
    assert_int_equal(redis_url_parse(&fixture.url, text_of(fake.url), &why), OK);
    for (int i = 0; i < 4; i++)
        outcomes[i].fixture = &fixture;
    nomem_arm(n);
    enum err err = redis_create(&fixture.redis, &fixture.loop, &fixture.settings);
    if (err == OK && subscriber)
        err = redis_subscribe(fixture.redis, TEXT("c"));
    if (err == OK) { /* a connection that memory failed is made again, after its backoff */
        UNTIL(&fixture, fixture.ups >= 1);
        if (subscriber) {
            UNTIL(&fixture, fixture.messages >= 1);
        } else {
            taken[0] = call(&outcomes[0], "GET a");
            taken[1] = call(&outcomes[1], "HGETALL b");
            taken[2] = redis_fixture_eval(&fixture, &outcomes[2], &script, "k", "v") == OK;
            taken[3] = call(&outcomes[3], "GET c");
        }
        for (int i = 0; i < 4; i++)
            UNTIL(&fixture, !taken[i] || outcomes[i].calls == 1);
    }
    bool failed = nomem_disarm();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(outcomes[i].calls, taken[i]);
        assert_true(failed || subscriber || (taken[i] && outcomes[i].err == OK));
    }
    assert_true(err == OK || (failed && err == ERR_NOMEM));
    redis_fake_stop(&fake);
    redis_fixture_finish(&fixture);
    return failed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    size_t total = 0;
    redis_script_prepare(&script);
    for (int subscriber = 0; subscriber < 2; subscriber++) {
        size_t n = 0;
        while (play(n, subscriber))
            assert_true(++n < SWEEP_MAX);
        assert_true(n > 1); /* else nothing was swept */
        total += n;
    }
    print_message("%zu allocations\n", total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };
    nomem_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

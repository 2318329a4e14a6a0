/* Closing, in every state and from within every callback: each call ends once, and nothing is left in the loop. */
#include "tests/support/redis_fake.h"
#include "tests/support/redis_fixture.h"

static struct redis_fixture fixture;
static struct redis_fake fake;

static void begin(const struct fake_rule *rules, size_t count)
{
    const char *why;
    redis_fixture_init(&fixture, "redis://127.0.0.1:1");
    redis_fake_start(&fake, &fixture.loop, rules, count);
    assert_int_equal(redis_url_parse(&fixture.url, text_of(fake.url), &why), OK);
}

static int end(void **state)
{
    (void)state;
    redis_fake_stop(&fake);
    redis_fixture_finish(&fixture);
    return 0;
}

static void on_closed(void *data)
{
    struct redis_fixture *closed = data;
    assert_false(closed->is_closed);
    closed->is_closed = true;
}

static void close_now(void)
{
    redis_close(fixture.redis, on_closed, &fixture);
}

static void close_and_wait(void)
{
    close_now();
    UNTIL(&fixture, fixture.is_closed);
}

static void before_the_loop_turned(void **state)
{
    (void)state;
    begin(NULL, 0);
    redis_fixture_start(&fixture);
    close_and_wait();
    assert_int_equal(fake.accepted, 0);
}

/* Whatever a turn does, closing after it is fine: resolving, connecting, greeting, up. */
static void after_any_number_of_turns(void **state)
{
    (void)state;
    for (int turns = 1; turns < 14; turns++) {
        begin(NULL, 0);
        redis_fixture_start(&fixture);
        for (int i = 0; i < turns && fixture.ups == 0; i++)
            redis_fixture_turn(&fixture);
        close_and_wait();
        end(NULL);
    }
    begin(NULL, 0);
}

static void while_the_greeting_is_unanswered(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"PING", "", FAKE_STAY, 0}};
    begin(rules, 1);
    redis_fixture_start(&fixture);
    UNTIL(&fixture, strstr(fake.seen, "PING"));
    close_and_wait();
    assert_int_equal(fixture.ups + fixture.downs, 0);
}

static void while_waiting_to_try_again(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"PING", "", FAKE_CLOSE, 0}};
    begin(rules, 1);
    fixture.settings.backoff_min_ms = fixture.settings.backoff_max_ms = 100000;
    redis_fixture_start(&fixture);
    UNTIL(&fixture, fixture.downs == 1);
    close_and_wait();
}

static void calls_on_the_wire_and_in_the_queue_are_canceled(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"GET", "", FAKE_STAY, 0}};
    struct outcome outcomes[4] = {0};
    begin(rules, 1);
    fixture.settings.window = 2;
    redis_fixture_up(&fixture);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(redis_fixture_call(&fixture, &outcomes[i], 5000, "GET a"), OK);
    UNTIL(&fixture, strstr(fake.seen, "GET GET"));
    close_now();
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(outcomes[i].calls, 1);
        assert_int_equal(outcomes[i].err, ERR_CANCELED);
        assert_int_equal(outcomes[i].order, i + 1);
    }
    assert_false(fixture.is_closed);
    UNTIL(&fixture, fixture.is_closed);
}

static void while_a_big_command_is_being_written(void **state)
{
    (void)state;
    enum { BYTES = 12000000 };
    char *big = malloc(BYTES);
    struct outcome outcome = {.fixture = &fixture};
    assert_non_null(big);
    memset(big, 'x', BYTES);
    begin(NULL, 0);
    redis_fixture_up(&fixture);
    uv_read_stop((uv_stream_t *)fake.connections); /* its first member: the peer reads no more */
    struct text argv[] = {TEXT("SET"), TEXT("k"), {big, BYTES}};
    assert_int_equal(redis_call(fixture.redis, 3, argv, 5000, redis_fixture_answer, &outcome), OK);
    redis_fixture_turn(&fixture);
    close_and_wait();
    assert_int_equal(outcome.err, ERR_CANCELED);
    free(big);
}

static void close_inside(struct outcome *outcome)
{
    struct outcome refused = {0};
    (void)outcome;
    close_now();
    assert_int_equal(redis_fixture_call(&fixture, &refused, 5000, "GET a"), ERR_UNSENT);
}

static void from_within_an_answer_with_more_answers_behind_it(void **state)
{
    (void)state;
    struct outcome outcomes[3] = {{.then = close_inside}};
    begin(NULL, 0);
    redis_fixture_up(&fixture);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(redis_fixture_call(&fixture, &outcomes[i], 5000, "GET a"), OK);
    UNTIL(&fixture, fixture.is_closed);
    assert_int_equal(outcomes[0].err, OK);
    assert_int_equal(outcomes[1].err, ERR_CANCELED);
    assert_int_equal(outcomes[2].err, ERR_CANCELED);
}

/* The loss of a connection ends several calls; the first of them closes. */
static void from_within_the_end_of_a_lost_call(void **state)
{
    (void)state;
    static const struct fake_rule rules[] = {{"GET", "", FAKE_CLOSE, 0}, {"SLOW", "", FAKE_STAY, 0}};
    struct outcome outcomes[3] = {{.then = close_inside}};
    begin(rules, 2);
    redis_fixture_up(&fixture);
    assert_int_equal(redis_fixture_call(&fixture, &outcomes[0], 5000, "SLOW a"), OK);
    assert_int_equal(redis_fixture_call(&fixture, &outcomes[1], 5000, "SLOW b"), OK);
    assert_int_equal(redis_fixture_call(&fixture, &outcomes[2], 5000, "GET a"), OK);
    UNTIL(&fixture, fixture.is_closed);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(outcomes[i].err, ERR_LOST);
        assert_int_equal(outcomes[i].calls, 1);
    }
}

static void from_within_a_timeout_and_a_refusal(void **state)
{
    (void)state;
    static const struct fake_rule rules[] = {{"GET", "", FAKE_STAY, 0}, {"SET", "-READONLY x\r\n", FAKE_STAY, 0}};
    static const struct {
        const char *words;
        enum err err;
    } rows[] = {{"GET a", ERR_TIMEOUT}, {"SET a b", ERR_REPLY}};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome = {.then = close_inside}, other = {0};
        begin(rules, 2);
        redis_fixture_up(&fixture);
        assert_int_equal(redis_fixture_call(&fixture, &outcome, 20, rows[i].words), OK);
        assert_int_equal(redis_fixture_call(&fixture, &other, 5000, "GET b"), OK);
        UNTIL(&fixture, fixture.is_closed);
        assert_int_equal(outcome.err, rows[i].err);
        assert_int_equal(other.calls, 1);
        end(NULL);
    }
    begin(NULL, 0);
}

static struct outcome again;

static void call_inside(struct outcome *outcome)
{
    if (outcome->err == OK)
        assert_int_equal(redis_fixture_call(&fixture, &again, 5000, "ECHO again"), OK);
    else
        assert_int_equal(redis_fixture_call(&fixture, &again, 5000, "ECHO again"), ERR_UNSENT);
}

static void a_callback_may_call_again(void **state)
{
    (void)state;
    static const struct fake_rule rules[] = {{"GET", "$1\r\na\r\n", FAKE_STAY, 0}, {"SET", "", FAKE_CLOSE, 0}};
    struct outcome good = {.then = call_inside}, bad = {.then = call_inside};
    begin(rules, 2);
    again = (struct outcome){0};
    redis_fixture_up(&fixture);
    redis_fixture_ask(&fixture, &good, "GET a");
    UNTIL(&fixture, again.calls);
    assert_int_equal(again.err, OK);
    redis_fixture_ask(&fixture, &bad, "SET a b");
    assert_int_equal(again.calls, 0);
}

static void reconnect_inside(struct outcome *outcome)
{
    (void)outcome;
    redis_reconnect(fixture.redis, "useless");
}

static void a_callback_may_ask_to_reconnect(void **state)
{
    (void)state;
    struct outcome first = {.then = reconnect_inside}, second = {0};
    begin(NULL, 0);
    redis_fixture_up(&fixture);
    assert_int_equal(redis_fixture_call(&fixture, &first, 5000, "GET a"), OK);
    assert_int_equal(redis_fixture_call(&fixture, &second, 5000, "GET b"), OK);
    UNTIL(&fixture, fixture.ups == 2);
    assert_int_equal(second.calls, 1);
    assert_string_equal(fixture.detail, "useless");
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(before_the_loop_turned),
        TEST(after_any_number_of_turns),
        TEST(while_the_greeting_is_unanswered),
        TEST(while_waiting_to_try_again),
        TEST(calls_on_the_wire_and_in_the_queue_are_canceled),
        TEST(while_a_big_command_is_being_written),
        TEST(from_within_an_answer_with_more_answers_behind_it),
        TEST(from_within_the_end_of_a_lost_call),
        TEST(from_within_a_timeout_and_a_refusal),
        TEST(a_callback_may_call_again),
        TEST(a_callback_may_ask_to_reconnect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

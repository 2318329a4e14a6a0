/* The client against peers that are slow, silent, gone, or no Redis at all. */
#include "tests/support/redis_fake.h"
#include "tests/support/redis_fixture.h"

static struct redis_fixture fixture;
static struct redis_fake fake;

#define BEGIN(rules) begin(rules, sizeof(rules) / sizeof *(rules))

static void begin(const struct fake_rule *rules, size_t count)
{
    struct redis_url url;
    const char *why;
    redis_fixture_init(&fixture, "redis://127.0.0.1:1");
    redis_fake_start(&fake, &fixture.loop, rules, count);
    assert_int_equal(redis_url_parse(&url, text_of(fake.url), &why), OK);
    fixture.url = url;
}

static int end(void **state)
{
    (void)state;
    redis_fake_stop(&fake);
    redis_fixture_finish(&fixture);
    return 0;
}

static void nobody_listening_is_told_and_tried_again(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    begin(NULL, 0);
    redis_fake_stop_listening(&fake);
    redis_fixture_turn(&fixture);
    redis_fixture_start(&fixture);
    assert_int_equal(redis_fixture_call(&fixture, &outcome, 1000, "GET a"), ERR_UNSENT);
    UNTIL(&fixture, fixture.downs == 3);
    assert_string_equal(fixture.detail, "connect to 127.0.0.1: connection refused");
    assert_int_equal(outcome.calls, 0);
}

static void a_name_without_address_is_told_and_tried_again(void **state)
{
    (void)state;
    begin(NULL, 0);
    snprintf(fixture.url.host, sizeof fixture.url.host, "nowhere.invalid");
    redis_fixture_start(&fixture);
    UNTIL(&fixture, fixture.downs == 2);
    assert_non_null(strstr(fixture.detail, "resolve nowhere.invalid"));
}

static void every_address_of_a_name_is_tried(void **state)
{
    (void)state;
    begin(NULL, 0); /* on 127.0.0.1 only; where localhost is also ::1, that one refuses */
    snprintf(fixture.url.host, sizeof fixture.url.host, "localhost");
    redis_fixture_up(&fixture);
    assert_int_equal(fixture.downs, 0);
}

static void the_greeting_comes_in_order_and_once(void **state)
{
    (void)state;
    begin(NULL, 0);
    snprintf(fixture.url.password, sizeof fixture.url.password, "p");
    fixture.url.db = 3;
    redis_fixture_up(&fixture);
    assert_string_equal(fake.seen, "AUTH SELECT CLIENT PING ");
}

static void a_peer_that_never_answers_the_greeting_is_left_at_the_deadline(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"PING", "", FAKE_STAY, 0}};
    BEGIN(rules);
    fixture.settings.connect_timeout_ms = 30;
    redis_fixture_start(&fixture);
    UNTIL(&fixture, fixture.downs == 2);
    assert_string_equal(fixture.detail, "connected, but no answer in time");
    assert_int_equal(fixture.ups, 0);
}

static void a_greeting_refused_is_told_and_tried_again(void **state)
{
    (void)state;
    static const struct {
        struct fake_rule rule;
        const char *detail;
    } rows[] = {
        {{"AUTH", "-WRONGPASS invalid username-password pair\r\n", FAKE_STAY, 1},
         "AUTH refused: WRONGPASS invalid username-password pair"},
        {{"AUTH", "-ERR unknown command `AUTH`, args beginning with: `opensesame`\r\n", FAKE_STAY, 1},
         "AUTH refused: (the answer repeats the password)"},
        {{"SELECT", "-ERR DB index is out of range\r\n", FAKE_STAY, 1}, "SELECT refused: ERR DB index is out of range"},
        {{"PING", "-LOADING Redis is loading\r\n", FAKE_STAY, 1}, "redis is not ready: LOADING Redis is loading"},
        {{"PING", "-NOAUTH \x1b[1m\r\n", FAKE_STAY, 1}, "redis is not ready: NOAUTH ?[1m"},
        {{"CLIENT", "", FAKE_CLOSE, 1}, "closed by the peer"},
        {{"PING", "", FAKE_RESET, 1}, NULL}, /* libuv reports an end or a reset, as it comes */
        {{"PING", "HTTP/1.1 400 Bad Request\r\n", FAKE_STAY, 1}, "Protocol error, got \"H\" as reply type byte"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(&rows[i].rule, 1);
        snprintf(fixture.url.password, sizeof fixture.url.password, "opensesame");
        fixture.url.db = 1;
        redis_fixture_up(&fixture); /* the second connection is good */
        assert_int_equal(fixture.downs, 1);
        if (rows[i].detail)
            assert_string_equal(fixture.detail, rows[i].detail);
        end(NULL);
    }
    begin(NULL, 0);
}

/* What happens to the first of three calls on the wire, and to the others. */
static void a_peer_that_breaks_off_ends_each_call_once(void **state)
{
    (void)state;
    static const struct {
        struct fake_rule rule;
        enum err first, others;
        const char *detail;
    } rows[] = {
        {{"GET", "$5\r\nhel", FAKE_CLOSE, 1}, ERR_LOST, ERR_LOST, "closed by the peer"},
        {{"GET", "$5\r\nhel", FAKE_RESET, 1}, ERR_LOST, ERR_LOST, NULL},
        {{"GET", "", FAKE_CLOSE, 1}, ERR_LOST, ERR_LOST, "closed by the peer"},
        {{"GET", "", FAKE_RESET, 1}, ERR_LOST, ERR_LOST, NULL},
        {{"GET", "garbage\r\n", FAKE_STAY, 1}, ERR_PROTOCOL, ERR_LOST, NULL},
        {{"GET", "$x\r\n", FAKE_STAY, 1}, ERR_PROTOCOL, ERR_LOST, NULL},
        {{"GET", "$1001\r\n", FAKE_STAY, 1}, ERR_TIMEOUT, ERR_LOST, "a call was not answered in time"},
        {{"GET", "*400\r\n", FAKE_STAY, 1}, ERR_PROTOCOL, ERR_LOST, "reply too long"},
        {{"GET", "*2147483647\r\n", FAKE_STAY, 1}, ERR_PROTOCOL, ERR_LOST, "reply too long"},
        {{"GET", "*300\r\n*300\r\n", FAKE_STAY, 1}, ERR_PROTOCOL, ERR_LOST, "reply too long"},
        {{"GET", "-READONLY You can't write\r\n", FAKE_STAY, 1},
         ERR_REPLY,
         ERR_LOST,
         "redis refuses work: READONLY You can't write"},
        {{"GET", "-LOADING x\r\n", FAKE_STAY, 1}, ERR_REPLY, ERR_LOST, "redis refuses work: LOADING x"},
        {{"GET", "-MASTERDOWN x\r\n", FAKE_STAY, 1}, ERR_REPLY, ERR_LOST, "redis refuses work: MASTERDOWN x"},
        {{"GET", "-CLUSTERDOWN x\r\n", FAKE_STAY, 1}, ERR_REPLY, ERR_LOST, "redis refuses work: CLUSTERDOWN x"},
        {{"GET", "-UNBLOCKED force\r\n", FAKE_STAY, 1}, ERR_REPLY, ERR_LOST, "redis refuses work: UNBLOCKED force"},
        {{"GET", "", FAKE_STAY, 1}, ERR_TIMEOUT, ERR_LOST, "a call was not answered in time"},
        {{"GET", "$5\r\nhel", FAKE_STAY, 1}, ERR_TIMEOUT, ERR_LOST, "a call was not answered in time"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct fake_rule rules[] = {rows[i].rule, {"SLOW", "", FAKE_STAY, 0}};
        struct outcome first = {0}, second = {0}, third = {0}, queued = {0}, after = {0};
        print_message("  row %zu\n", i);
        BEGIN(rules);
        fixture.settings.window = 3;
        fixture.settings.reply_bytes_max = 1000;
        redis_fixture_up(&fixture);
        assert_int_equal(redis_fixture_call(&fixture, &first, 60, "GET a"), OK);
        assert_int_equal(redis_fixture_call(&fixture, &second, 5000, "SLOW b"), OK);
        assert_int_equal(redis_fixture_call(&fixture, &third, 5000, "SLOW c"), OK);
        assert_int_equal(redis_fixture_call(&fixture, &queued, 5000, "SET d e"), OK);
        UNTIL(&fixture, fixture.ups == 2);
        assert_int_equal(first.err, rows[i].first);
        assert_int_equal(second.err, rows[i].others);
        assert_int_equal(third.err, rows[i].others);
        assert_int_equal(queued.err, ERR_UNSENT);
        assert_int_equal(fixture.outcomes, 4);
        assert_null(strstr(fake.seen, "SET")); /* unsent means it */
        if (rows[i].detail)
            assert_string_equal(fixture.detail, rows[i].detail);
        redis_fixture_ask(&fixture, &after, "ECHO x");
        assert_int_equal(after.err, OK);
        end(NULL);
    }
    begin(NULL, 0);
}

static void an_answer_nobody_asked_for_ends_the_connection(void **state)
{
    (void)state;
    begin(NULL, 0);
    redis_fixture_up(&fixture);
    redis_fake_say(&fake, "+OK\r\n", 5);
    UNTIL(&fixture, fixture.ups == 2);
    assert_string_equal(fixture.detail, "an answer nobody asked for");
}

static void a_reply_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
    (void)state;
    static char longest[1001], longer[1002];
    struct outcome good = {0}, bad = {0};
    snprintf(longest, sizeof longest, "$992\r\n%0992d\r\n", 0);
    snprintf(longer, sizeof longer, "$993\r\n%0993d\r\n", 0);
    const struct fake_rule rules[] = {{"GET", longest, FAKE_STAY, 0}, {"HGET", longer, FAKE_STAY, 0}};
    BEGIN(rules);
    fixture.settings.reply_bytes_max = 1000;
    redis_fixture_up(&fixture);
    for (int i = 0; i < 3; i++) { /* counted for each reply, not for all */
        redis_fixture_ask(&fixture, &good, "GET a");
        assert_int_equal(good.text_len, 992);
    }
    redis_fixture_ask(&fixture, &bad, "HGET a b");
    assert_int_equal(bad.err, ERR_PROTOCOL);
    UNTIL(&fixture, fixture.ups == 2);
}

static void an_answer_in_single_bytes_is_put_together(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"PING", "+PONG\r\n", FAKE_SLOWLY, 0},
                                      {"GET", "$11\r\nhello\r\nyou!\r\n", FAKE_SLOWLY, 0}};
    struct outcome outcome = {0};
    BEGIN(rules);
    redis_fixture_up(&fixture);
    redis_fixture_ask(&fixture, &outcome, "GET a");
    assert_string_equal(outcome.text, "hello\r\nyou!");
}

static void calls_beyond_window_and_queue_are_refused_at_once(void **state)
{
    (void)state;
    enum { WINDOW = 2, QUEUE = 3 };
    const struct fake_rule rules[] = {{"GET", "", FAKE_STAY, 0}};
    static struct outcome outcomes[WINDOW + QUEUE], extra; /* they end after the test */
    BEGIN(rules);
    fixture.settings.window = WINDOW;
    fixture.settings.queue_calls_max = QUEUE;
    redis_fixture_up(&fixture);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; turn == 0 && i < WINDOW + QUEUE; i++)
            assert_int_equal(redis_fixture_call(&fixture, &outcomes[i], 5000, "GET a"), OK);
        assert_int_equal(redis_fixture_call(&fixture, &extra, 5000, "GET a"), ERR_BUSY);
        assert_int_equal(redis_pending(fixture.redis), WINDOW + QUEUE);
        UNTIL(&fixture, strstr(fake.seen, "GET GET ")); /* the same before and after they are written */
    }
    assert_null(strstr(fake.seen, "GET GET GET"));
}

static void bytes_beyond_the_queue_are_refused_at_once(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"GET", "", FAKE_STAY, 0}};
    static struct outcome first, second, third; /* they end after the test */
    BEGIN(rules);
    fixture.settings.window = 1;
    fixture.settings.queue_bytes_max = 40; /* "*2\r\n$3\r\nGET\r\n$1\r\na\r\n" is 20 */
    redis_fixture_up(&fixture);
    assert_int_equal(redis_fixture_call(&fixture, &first, 5000, "GET a"), OK);
    assert_int_equal(redis_fixture_call(&fixture, &second, 5000, "GET a"), OK);
    assert_int_equal(redis_fixture_call(&fixture, &third, 5000, "GET a"), ERR_BUSY);
    UNTIL(&fixture, strstr(fake.seen, "GET ")); /* the first is on the wire now */
    assert_int_equal(redis_fixture_call(&fixture, &third, 5000, "GET ab"), ERR_BUSY);
    assert_int_equal(redis_fixture_call(&fixture, &third, 5000, "GET a"), OK);
}

static void a_call_whose_time_passes_in_the_queue_is_unsent_and_the_connection_stays(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"GET", "", FAKE_STAY, 0}};
    struct outcome wire = {0}, queued = {0}, later = {0};
    BEGIN(rules);
    fixture.settings.window = 1;
    redis_fixture_up(&fixture);
    assert_int_equal(redis_fixture_call(&fixture, &wire, 150, "GET a"), OK);
    assert_int_equal(redis_fixture_call(&fixture, &later, 100, "SET a b"), OK);
    assert_int_equal(redis_fixture_call(&fixture, &queued, 20, "SET a b"), OK);
    UNTIL(&fixture, queued.calls);
    assert_int_equal(queued.err, ERR_UNSENT);
    assert_int_equal(fixture.downs + later.calls + wire.calls, 0);
    UNTIL(&fixture, wire.calls);
    assert_int_equal(later.err, ERR_UNSENT);
    assert_int_equal(later.order, 2);
    assert_int_equal(wire.err, ERR_TIMEOUT);
    UNTIL(&fixture, fixture.ups == 2);
}

static void an_answer_that_arrived_while_we_were_held_up_counts(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    begin(NULL, 0);
    redis_fixture_up(&fixture);
    assert_int_equal(redis_fixture_call(&fixture, &outcome, 30, "GET a"), OK);
    UNTIL(&fixture, strstr(fake.seen, "GET ")); /* answered into the socket; nobody has read it */
    assert_int_equal(outcome.calls, 0);
    for (uint64_t start = uv_hrtime(); uv_hrtime() - start < 60 * UINT64_C(1000000);)
        ; /* held up past the deadline */
    UNTIL(&fixture, outcome.calls);
    assert_int_equal(outcome.err, OK);
}

static void silence_on_an_idle_connection_is_noticed_by_ping(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"PING", "+PONG\r\n", FAKE_STAY, 1}, {"PING", "+PONG\r\n", FAKE_STAY, 2}};
    BEGIN(rules);
    fixture.settings.ping_every_ms = 5;
    fixture.settings.connect_timeout_ms = 200;
    redis_fixture_up(&fixture);
    UNTIL(&fixture, strstr(fake.seen, "PING PING PING PING "));
    assert_int_equal(fixture.downs, 0);
}

static void a_ping_without_answer_ends_the_connection(void **state)
{
    (void)state;
    begin(NULL, 0);
    fixture.settings.ping_every_ms = 5;
    fixture.settings.connect_timeout_ms = 200;
    redis_fixture_up(&fixture);
    fake.rules[0] = (struct fake_rule){"PING", "", FAKE_STAY, 1};
    fake.rule_count = 1;
    UNTIL(&fixture, fixture.ups == 2);
    assert_string_equal(fixture.detail, "PING was not answered in time");
}

static void a_script_unknown_twice_is_an_error_and_no_circle(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {{"EVALSHA", "-NOSCRIPT no\r\n", FAKE_STAY, 0},
                                      {"EVAL", "-NOSCRIPT still no\r\n", FAKE_STAY, 0}};
    struct redis_script script = {.name = "s", .body = "return 1"};
    struct outcome outcome = {0};
    BEGIN(rules);
    redis_script_prepare(&script);
    redis_fixture_up(&fixture);
    assert_int_equal(redis_fixture_eval(&fixture, &outcome, &script, "k", "a"), OK);
    UNTIL(&fixture, outcome.calls);
    assert_int_equal(outcome.err, ERR_REPLY);
    assert_string_equal(outcome.text, "NOSCRIPT still no");
    assert_non_null(strstr(fake.seen, "PING EVALSHA EVAL "));
}

static void a_subscription_refused_is_told_and_tried_again(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {
        {"SUBSCRIBE", "-NOPERM no such channel for you\r\n", FAKE_STAY, 1},
        {"SUBSCRIBE", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n",
         FAKE_STAY, 2},
    };
    BEGIN(rules);
    redis_fixture_start(&fixture);
    assert_int_equal(redis_subscribe(fixture.redis, TEXT("c")), OK);
    UNTIL(&fixture, fixture.messages == 1);
    assert_int_equal(fixture.downs, 1);
    assert_string_equal(fixture.detail, "SUBSCRIBE refused: NOPERM no such channel for you");
    assert_string_equal(fixture.message, "c hi");
}

static void a_connection_that_is_up_may_become_a_subscriber(void **state)
{
    (void)state;
    const struct fake_rule rules[] = {
        {"SUBSCRIBE", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n",
         FAKE_STAY, 0},
    };
    BEGIN(rules);
    redis_fixture_up(&fixture);
    assert_int_equal(redis_subscribe(fixture.redis, TEXT("c")), OK);
    UNTIL(&fixture, fixture.messages == 1);
    assert_int_equal(fixture.ups, 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_listening_is_told_and_tried_again),
        TEST(a_name_without_address_is_told_and_tried_again),
        TEST(every_address_of_a_name_is_tried),
        TEST(the_greeting_comes_in_order_and_once),
        TEST(a_peer_that_never_answers_the_greeting_is_left_at_the_deadline),
        TEST(a_greeting_refused_is_told_and_tried_again),
        TEST(a_peer_that_breaks_off_ends_each_call_once),
        TEST(an_answer_nobody_asked_for_ends_the_connection),
        TEST(a_reply_may_be_as_long_as_the_limit_and_no_longer),
        TEST(an_answer_in_single_bytes_is_put_together),
        TEST(calls_beyond_window_and_queue_are_refused_at_once),
        TEST(bytes_beyond_the_queue_are_refused_at_once),
        TEST(a_call_whose_time_passes_in_the_queue_is_unsent_and_the_connection_stays),
        TEST(an_answer_that_arrived_while_we_were_held_up_counts),
        TEST(silence_on_an_idle_connection_is_noticed_by_ping),
        TEST(a_ping_without_answer_ends_the_connection),
        TEST(a_script_unknown_twice_is_an_error_and_no_circle),
        TEST(a_subscription_refused_is_told_and_tried_again),
        TEST(a_connection_that_is_up_may_become_a_subscriber),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

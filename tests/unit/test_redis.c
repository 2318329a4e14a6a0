/* The client against a real server of the test's own. */
#include "tests/support/redis_fixture.h"
#include "tests/support/redis_live.h"

static struct redis_live live;
static struct redis_fixture fixture;

static int start_server(void **state)
{
    (void)state;
    return redis_live_start(&live, NULL) ? 0 : -1;
}

static int stop_server(void **state)
{
    (void)state;
    redis_live_finish(&live);
    return 0;
}

static int connect_client(void **state)
{
    (void)state;
    redis_fixture_init(&fixture, live.url);
    redis_fixture_up(&fixture);
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    redis_fixture_finish(&fixture);
    return 0;
}

static void a_command_is_answered_and_told_to_the_hook(void **state)
{
    (void)state;
    struct outcome set = {0}, get = {0};
    redis_fixture_ask(&fixture, &set, "SET fruit apple");
    redis_fixture_ask(&fixture, &get, "GET fruit");
    assert_int_equal(get.err, OK);
    assert_string_equal(get.text, "apple");
    assert_int_equal(fixture.dones, 2);
    assert_string_equal(fixture.done_command, "GET");
    assert_int_equal(redis_pending(fixture.redis), 0);
}

static void bytes_of_any_value_and_empty_ones_survive(void **state)
{
    (void)state;
    struct outcome outcome = {.fixture = &fixture};
    struct text set[] = {TEXT("SET"), TEXT("a\0\r\n$1"), {"x\0y\r\n", 5}};
    struct text append[] = {TEXT("APPEND"), TEXT("a\0\r\n$1"), {NULL, 0}};
    assert_int_equal(redis_call(fixture.redis, 3, set, 5000, redis_fixture_answer, &outcome), OK);
    UNTIL(&fixture, outcome.calls);
    outcome = (struct outcome){.fixture = &fixture};
    assert_int_equal(redis_call(fixture.redis, 3, append, 5000, redis_fixture_answer, &outcome), OK);
    UNTIL(&fixture, outcome.calls);
    assert_int_equal(outcome.integer, 5);
}

static void a_refused_command_ends_with_the_error_text_and_the_connection_stays(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    redis_fixture_ask(&fixture, &outcome, "NOSUCHCOMMAND");
    assert_int_equal(outcome.err, ERR_REPLY);
    assert_int_equal(outcome.kind, REPLY_ERROR);
    assert_int_equal(fixture.downs, 0);
    redis_fixture_ask(&fixture, &outcome, "ECHO again");
    assert_string_equal(outcome.text, "again");
}

static void ten_thousand_calls_are_pipelined_and_answered_in_order(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    static struct outcome outcomes[COUNT];
    struct outcome del = {0};
    redis_fixture_ask(&fixture, &del, "DEL counter");
    fixture.outcomes = 0;
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(redis_fixture_call(&fixture, &outcomes[i], 10000, "INCR counter"), OK);
    assert_int_equal(redis_pending(fixture.redis), COUNT);
    UNTIL(&fixture, redis_pending(fixture.redis) == 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(outcomes[i].err, OK);
        assert_int_equal(outcomes[i].order, i + 1);
        assert_int_equal(outcomes[i].integer, i + 1);
    }
}

static void commands_with_many_arguments_and_big_ones_go_through(void **state)
{
    (void)state;
    enum { COUNT = 1000, BYTES = 3000000 };
    static struct text argv[COUNT + 2];
    struct outcome outcome = {.fixture = &fixture};
    argv[0] = TEXT("RPUSH");
    argv[1] = TEXT("many");
    for (size_t i = 2; i < COUNT + 2; i++)
        argv[i] = TEXT("element");
    assert_int_equal(redis_call(fixture.redis, COUNT + 2, argv, 5000, redis_fixture_answer, &outcome), OK);
    UNTIL(&fixture, outcome.calls);
    assert_int_equal(outcome.integer, COUNT);

    char *big = malloc(BYTES);
    assert_non_null(big);
    memset(big, 'b', BYTES);
    struct text echo[] = {TEXT("ECHO"), {big, BYTES}};
    outcome = (struct outcome){.fixture = &fixture};
    assert_int_equal(redis_call(fixture.redis, 2, echo, 5000, redis_fixture_answer, &outcome), OK);
    UNTIL(&fixture, outcome.calls);
    assert_int_equal(outcome.text_len, BYTES);
    free(big);
}

static void a_script_the_server_does_not_know_runs_exactly_once(void **state)
{
    (void)state;
    struct redis_script script = {.name = "count", .body = "return redis.call('INCRBY', KEYS[1], ARGV[1])"};
    struct outcome outcome = {0};
    redis_script_prepare(&script);
    redis_fixture_ask(&fixture, &outcome, "DEL total");
    for (int round = 1; round <= 4; round++) {
        if (round % 2)
            redis_fixture_ask(&fixture, &outcome, "SCRIPT FLUSH");
        assert_int_equal(redis_fixture_eval(&fixture, &outcome, &script, "total", "5"), OK);
        UNTIL(&fixture, outcome.calls);
        assert_int_equal(outcome.err, OK);
        assert_int_equal(outcome.integer, 5 * round);
        assert_string_equal(fixture.done_command, "count");
    }
    assert_int_equal(fixture.downs, 0);
}

/* The window is shorter than the queue: what is written again must go before what still waits. */
static void unknown_scripts_in_a_pipeline_keep_their_order(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    static struct outcome outcomes[COUNT];
    struct redis_fixture narrow;
    struct redis_script script = {.name = "push", .body = "return redis.call('RPUSH', KEYS[1], ARGV[1])"};
    struct outcome outcome = {0};
    redis_script_prepare(&script);
    redis_fixture_ask(&fixture, &outcome, "SCRIPT FLUSH");
    redis_fixture_ask(&fixture, &outcome, "DEL pushed");
    redis_fixture_init(&narrow, live.url);
    narrow.settings.window = 10;
    redis_fixture_up(&narrow);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(redis_fixture_eval(&narrow, &outcomes[i], &script, "pushed", "x"), OK);
    UNTIL(&narrow, redis_pending(narrow.redis) == 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(outcomes[i].integer, i + 1);
    redis_fixture_finish(&narrow);
}

static void a_script_that_fails_is_an_answer(void **state)
{
    (void)state;
    struct redis_script script = {.name = "fail", .body = "return redis.error_reply('NOSCRIPT mine')"};
    struct outcome outcome = {0};
    redis_script_prepare(&script);
    assert_int_equal(redis_fixture_eval(&fixture, &outcome, &script, "k", "x"), OK);
    UNTIL(&fixture, outcome.calls);
    assert_int_equal(outcome.err, ERR_REPLY);
    assert_string_equal(outcome.text, "NOSCRIPT mine");
}

static void the_hash_of_a_script_is_its_sha1(void **state)
{
    (void)state;
    struct redis_script script = {.name = "one", .body = "return 1"};
    redis_script_prepare(&script);
    assert_string_equal(script.sha1, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
}

static void a_blocking_read_waits_for_its_own_deadline(void **state)
{
    (void)state;
    struct outcome block = {0}, late = {0};
    assert_int_equal(redis_fixture_call(&fixture, &block, 5000, "BLPOP nothing 0.05"), OK);
    UNTIL(&fixture, block.calls);
    assert_int_equal(block.err, OK);
    assert_int_equal(block.kind, REPLY_NIL);
    assert_int_equal(redis_fixture_call(&fixture, &late, 50, "BLPOP nothing 0"), OK);
    UNTIL(&fixture, late.calls);
    assert_int_equal(late.err, ERR_TIMEOUT);
    UNTIL(&fixture, fixture.ups == 2);
}

static void killed_and_restarted_servers_are_found_again(void **state)
{
    (void)state;
    struct outcome lost = {0}, unsent = {0}, outcome = {0};
    assert_int_equal(redis_fixture_call(&fixture, &lost, 5000, "BLPOP nothing 0"), OK);
    redis_fixture_turn(&fixture);
    redis_live_kill(&live);
    UNTIL(&fixture, lost.calls);
    assert_int_equal(lost.err, ERR_LOST);
    assert_int_equal(redis_fixture_call(&fixture, &unsent, 5000, "PING"), ERR_UNSENT);
    assert_true(redis_live_start(&live, NULL));
    UNTIL(&fixture, fixture.ups == 2);
    redis_fixture_ask(&fixture, &outcome, "ECHO back");
    assert_string_equal(outcome.text, "back");
    assert_int_equal(unsent.calls, 0);
}

static void asking_to_reconnect_ends_calls_later_and_comes_back(void **state)
{
    (void)state;
    struct outcome lost = {0};
    assert_int_equal(redis_fixture_call(&fixture, &lost, 5000, "BLPOP nothing 0"), OK);
    redis_fixture_turn(&fixture);
    redis_reconnect(fixture.redis, "read-only replica");
    assert_int_equal(lost.calls, 0);
    UNTIL(&fixture, fixture.ups == 2);
    assert_int_equal(lost.err, ERR_LOST);
    assert_string_equal(fixture.detail, "read-only replica");
}

static void the_connection_selects_its_database_and_carries_its_name(void **state)
{
    (void)state;
    struct redis_fixture other;
    char url[96];
    struct outcome outcome = {0};
    snprintf(url, sizeof url, "%s?db=7", live.url);
    redis_fixture_init(&other, url);
    redis_fixture_up(&other);
    redis_fixture_ask(&other, &outcome, "CLIENT GETNAME");
    assert_string_equal(outcome.text, "anteroom-test");
    redis_fixture_ask(&other, &outcome, "EVAL return(redis.call('SET','in7','yes')) 0");
    redis_fixture_ask(&other, &outcome, "GET in7");
    assert_string_equal(outcome.text, "yes");
    redis_fixture_finish(&other);
    redis_fixture_ask(&fixture, &outcome, "GET in7");
    assert_int_equal(outcome.kind, REPLY_NIL);
}

static void a_subscriber_hears_messages_also_after_a_reconnect(void **state)
{
    (void)state;
    struct redis_fixture listener;
    struct outcome outcome = {0};
    redis_fixture_init(&listener, live.url);
    listener.settings.ping_every_ms = 5;
    redis_fixture_start(&listener);
    assert_int_equal(redis_subscribe(listener.redis, TEXT("news")), OK);
    UNTIL(&listener, listener.ups == 1);
    redis_fixture_ask(&fixture, &outcome, "PUBLISH news first");
    assert_int_equal(outcome.integer, 1);
    UNTIL(&listener, listener.messages == 1);
    assert_string_equal(listener.message, "news first");
    redis_fixture_ask(&fixture, &outcome, "CLIENT KILL TYPE pubsub");
    assert_int_equal(outcome.integer, 1);
    UNTIL(&listener, listener.ups == 2);
    redis_fixture_ask(&fixture, &outcome, "PUBLISH news second");
    UNTIL(&listener, listener.messages == 2);
    assert_string_equal(listener.message, "news second");
    redis_fixture_finish(&listener);
}

static void a_user_who_may_not_set_a_name_or_ping_is_served(void **state)
{
    (void)state;
    struct redis_fixture other;
    struct outcome outcome = {0};
    redis_fixture_ask(&fixture, &outcome, "ACL SETUSER poor on >pass ~* +get");
    assert_int_equal(outcome.err, OK);
    redis_fixture_init(&other, live.url);
    snprintf(other.url.user, sizeof other.url.user, "poor");
    snprintf(other.url.password, sizeof other.url.password, "pass");
    redis_fixture_up(&other);
    redis_fixture_ask(&other, &outcome, "GET nothing");
    assert_int_equal(outcome.err, OK);
    redis_fixture_ask(&other, &outcome, "SET a b");
    assert_int_equal(outcome.err, ERR_REPLY);
    redis_fixture_finish(&other);
}

static void a_wrong_password_is_told_without_it_and_tried_again(void **state)
{
    (void)state;
    struct redis_fixture other;
    struct outcome outcome = {0};
    redis_fixture_init(&other, live.url);
    snprintf(other.url.user, sizeof other.url.user, "late");
    snprintf(other.url.password, sizeof other.url.password, "opensesame");
    redis_fixture_start(&other);
    UNTIL(&other, other.downs == 2);
    assert_non_null(strstr(other.detail, "AUTH refused: WRONGPASS"));
    assert_null(strstr(other.detail, "opensesame"));
    redis_fixture_ask(&fixture, &outcome, "ACL SETUSER late on >opensesame ~* +@all");
    UNTIL(&other, other.ups == 1);
    redis_fixture_finish(&other);
}

#define WITH_CLIENT(test) cmocka_unit_test_setup_teardown(test, connect_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLIENT(a_command_is_answered_and_told_to_the_hook),
        WITH_CLIENT(bytes_of_any_value_and_empty_ones_survive),
        WITH_CLIENT(a_refused_command_ends_with_the_error_text_and_the_connection_stays),
        WITH_CLIENT(ten_thousand_calls_are_pipelined_and_answered_in_order),
        WITH_CLIENT(commands_with_many_arguments_and_big_ones_go_through),
        WITH_CLIENT(a_script_the_server_does_not_know_runs_exactly_once),
        WITH_CLIENT(unknown_scripts_in_a_pipeline_keep_their_order),
        WITH_CLIENT(a_script_that_fails_is_an_answer),
        cmocka_unit_test(the_hash_of_a_script_is_its_sha1),
        WITH_CLIENT(a_blocking_read_waits_for_its_own_deadline),
        WITH_CLIENT(killed_and_restarted_servers_are_found_again),
        WITH_CLIENT(asking_to_reconnect_ends_calls_later_and_comes_back),
        WITH_CLIENT(the_connection_selects_its_database_and_carries_its_name),
        WITH_CLIENT(a_subscriber_hears_messages_also_after_a_reconnect),
        WITH_CLIENT(a_user_who_may_not_set_a_name_or_ping_is_served),
        WITH_CLIENT(a_wrong_password_is_told_without_it_and_tried_again),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}

#include "tests/support/redis_fixture.h"

#include <signal.h>

#define GUARD_MS 20000

static void on_event(void *data, enum redis_event event, const char *detail)
{
    struct redis_fixture *fixture = data;
    assert_false(fixture->is_closed);
    assert_int_equal(event == REDIS_UP, redis_is_up(fixture->redis));
    fixture->ups += event == REDIS_UP;
    fixture->downs += event == REDIS_DOWN;
    if (event == REDIS_DOWN)
        snprintf(fixture->detail, sizeof fixture->detail, "%s", detail);
}

static void on_message(void *data, struct text channel, struct text message)
{
    struct redis_fixture *fixture = data;
    fixture->messages++;
    snprintf(fixture->message, sizeof fixture->message, "%.*s %.*s", (int)channel.len, channel.at, (int)message.len,
             message.at);
}

static void on_done(void *data, const char *command, enum err err, uint64_t duration_ns)
{
    struct redis_fixture *fixture = data;
    (void)err;
    assert_true(duration_ns < UINT64_C(60000000000));
    fixture->dones++;
    snprintf(fixture->done_command, sizeof fixture->done_command, "%s", command);
}

static void on_guard(uv_timer_t *guard)
{
    struct redis_fixture *fixture = guard->data;
    fixture->is_late = true;
}

void redis_fixture_init(struct redis_fixture *fixture, const char *url)
{
    const char *why;
    *fixture = (struct redis_fixture){0};
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(redis_url_parse(&fixture->url, text_of(url), &why), OK);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    uv_timer_init(&fixture->loop, &fixture->guard);
    fixture->guard.data = fixture;
    uv_timer_start(&fixture->guard, on_guard, GUARD_MS, 0);
    fixture->settings = redis_settings_default();
    fixture->settings.url = &fixture->url;
    fixture->settings.name = "anteroom-test";
    fixture->settings.ping_every_ms = 0;
    fixture->settings.backoff_min_ms = 1;
    fixture->settings.backoff_max_ms = 20;
    fixture->settings.hooks = (struct redis_hooks){on_event, on_message, on_done, fixture};
}

void redis_fixture_start(struct redis_fixture *fixture)
{
    assert_int_equal(redis_create(&fixture->redis, &fixture->loop, &fixture->settings), OK);
}

void redis_fixture_up(struct redis_fixture *fixture)
{
    redis_fixture_start(fixture);
    UNTIL(fixture, fixture->ups == 1);
}

void redis_fixture_turn(struct redis_fixture *fixture)
{
    uv_run(&fixture->loop, UV_RUN_ONCE);
    if (fixture->is_late)
        fail_msg("the test did not get on; redis said last: %s", fixture->detail);
}

static void on_closed(void *data)
{
    struct redis_fixture *fixture = data;
    fixture->is_closed = true;
}

void redis_fixture_finish(struct redis_fixture *fixture)
{
    if (fixture->redis && !fixture->is_closed) {
        redis_close(fixture->redis, on_closed, fixture);
        UNTIL(fixture, fixture->is_closed);
    }
    uv_close((uv_handle_t *)&fixture->guard, NULL);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
}

void redis_fixture_answer(void *data, enum err err, const struct redis_reply *reply)
{
    struct outcome *outcome = data;
    struct text text = reply_text(reply);
    assert_int_equal(++outcome->calls, 1);
    assert_int_equal(reply != NULL, err == OK || err == ERR_REPLY);
    outcome->err = err;
    outcome->has_reply = reply != NULL;
    outcome->kind = reply_kind(reply);
    outcome->integer = reply_int(reply, -1);
    outcome->text_len = text.len;
    outcome->order = ++outcome->fixture->outcomes;
    snprintf(outcome->text, sizeof outcome->text, "%.*s", (int)text.len, text.at ? text.at : "");
    if (outcome->then)
        outcome->then(outcome);
}

static enum err check_not_inline(const struct outcome *outcome, enum err err)
{
    assert_int_equal(outcome->calls, 0);
    return err;
}

enum err redis_fixture_call(struct redis_fixture *fixture, struct outcome *outcome, uint32_t timeout_ms,
                            const char *words)
{
    struct text argv[16], rest = text_of(words);
    size_t argc = 0;
    while (argc < 16 && text_next(&rest, ' ', &argv[argc]))
        argc++;
    *outcome = (struct outcome){.fixture = fixture, .then = outcome->then};
    return check_not_inline(outcome, redis_call(fixture->redis, argc, argv, timeout_ms, redis_fixture_answer, outcome));
}

enum err redis_fixture_eval(struct redis_fixture *fixture, struct outcome *outcome, const struct redis_script *script,
                            const char *key, const char *arg)
{
    struct text keys[] = {text_of(key)}, args[] = {text_of(arg)};
    *outcome = (struct outcome){.fixture = fixture, .then = outcome->then};
    return check_not_inline(outcome,
                            redis_eval(fixture->redis, script, 1, keys, 1, args, 5000, redis_fixture_answer, outcome));
}

void redis_fixture_ask(struct redis_fixture *fixture, struct outcome *outcome, const char *words)
{
    assert_int_equal(redis_fixture_call(fixture, outcome, 5000, words), OK);
    UNTIL(fixture, outcome->calls);
}

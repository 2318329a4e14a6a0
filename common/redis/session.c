#include "common/redis/client.h"

#include "common/base/check.h"
#include "common/base/entropy.h"
#include "common/redis/parser.h"

#include <stdio.h>

#define PROVEN_MS 10000 /* a connection that lasted this long was a good one */

static void tell(struct redis *redis, enum redis_event event, const char *detail)
{
    const struct redis_hooks *hooks = &redis->settings.hooks;
    if (hooks->on_event)
        hooks->on_event(hooks->data, event, detail);
}

static void start_timer(struct redis *redis, uint32_t delay_ms)
{
    int result = uv_timer_start(&redis->session_timer, redis_session_timer, delay_ms, 0);
    CHECK(result == 0);
}

static void retry_later(struct redis *redis, const char *why)
{
    uint32_t random;
    entropy_fill(&random, sizeof random);
    redis->state = SESSION_WAITING;
    start_timer(redis, backoff_next_ms(&redis->backoff, random));
    tell(redis, REDIS_DOWN, why);
}

void redis_session_drop(struct redis *redis, enum err head, const char *why)
{
    CHECK(redis->link);
    bool lasted = redis->state == SESSION_UP && uv_now(redis->loop) - redis->up_since_ms >= PROVEN_MS;
    if (redis->answered || lasted)
        backoff_reset(&redis->backoff);
    redis->asked_to_reconnect = false;
    redis_link_close(redis->link, redis_session_let_go); /* WHY may lie in it: it is freed in a later turn */
    redis->link = NULL;
    redis_requests_end(redis, head, ERR_LOST, ERR_UNSENT);
    retry_later(redis, why);
    redis_requests_deliver(redis);
}

void redis_session_refused(struct redis *redis, const char *what, const struct redis_reply *reply)
{
    struct text text = reply_text(reply), password = text_of(redis->url.password);
    char why[256];
    if (reply_kind(reply) != REPLY_ERROR)
        text = TEXT("not the answer expected");
    else if (password.len && memmem(text.at, text.len, password.at, password.len))
        text = TEXT("(the answer repeats the password)"); /* as "unknown command" does */
    int shown = text.len < 160 ? (int)text.len : 160;
    snprintf(why, sizeof why, "%s: %.*s", what, shown, text.at);
    for (char *c = why; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    redis_session_drop(redis, ERR_LOST, why);
}

/* Ours need no room in the queue: there are never more than a handful. */
static bool send_own(struct redis *redis, enum request_kind kind, size_t argc, const struct text *argv)
{
    struct redis_request *request = redis_request_create(kind, argc, argv);
    if (!request)
        return false;
    enum err err = redis_request_queue(redis, request, 0);
    CHECK(err == OK);
    redis->greetings += redis->state == SESSION_GREETING;
    return true;
}

static bool send_auth(struct redis *redis)
{
    struct text argv[3] = {TEXT("AUTH")};
    size_t argc = 1;
    if (!redis->url.password[0])
        return true;
    if (redis->url.user[0])
        argv[argc++] = text_of(redis->url.user);
    argv[argc++] = text_of(redis->url.password);
    return send_own(redis, REQUEST_AUTH, argc, argv);
}

static bool send_select(struct redis *redis)
{
    char number[16];
    snprintf(number, sizeof number, "%d", redis->url.db);
    struct text argv[] = {TEXT("SELECT"), text_of(number)};
    return redis->url.db == 0 || send_own(redis, REQUEST_SELECT, 2, argv);
}

static bool send_name(struct redis *redis)
{
    struct text argv[] = {TEXT("CLIENT"), TEXT("SETNAME"), text_of(redis->name)};
    return !redis->name[0] || send_own(redis, REQUEST_NAME, 3, argv);
}

static bool send_ping(struct redis *redis, enum request_kind kind)
{
    return send_own(redis, kind, 1, &TEXT("PING"));
}

bool redis_session_subscribe(struct redis *redis)
{
    struct text argv[] = {TEXT("SUBSCRIBE"), {redis->channel, redis->channel_len}};
    return !redis->channel || send_own(redis, REQUEST_SUBSCRIBE, 2, argv);
}

static void on_open(void *data)
{
    struct redis *redis = data;
    redis->state = SESSION_GREETING;
    if (!send_auth(redis) || !send_select(redis) || !send_name(redis) || !send_ping(redis, REQUEST_READY) ||
        !redis_session_subscribe(redis))
        redis_session_drop(redis, ERR_LOST, "out of memory");
}

static void on_drain(void *data)
{
    redis_session_wake(data);
}

static void on_fail(void *data, const char *why)
{
    redis_session_drop(data, ERR_LOST, why);
}

static void connect_now(struct redis *redis)
{
    static const struct redis_link_hooks hooks = {on_open, redis_answer_bytes, on_drain, on_fail};
    const uint32_t timeout_ms = redis->settings.connect_timeout_ms;
    redis->greetings = 0;
    redis->pinging = redis->heard = redis->answered = false;
    redis_parser_destroy(redis->parser);
    redis->parser = NULL;
    if (redis_parser_create(&redis->parser, redis->settings.reply_bytes_max) != OK ||
        redis_link_open(&redis->link, redis->loop, &redis->url, timeout_ms, &hooks, redis) != OK) {
        retry_later(redis, "no memory to connect");
        return;
    }
    redis->held++;
    redis->state = SESSION_CONNECTING;
    start_timer(redis, timeout_ms);
}

static void go_up(struct redis *redis)
{
    char shown[512];
    redis_url_show(&redis->url, shown, sizeof shown);
    redis->state = SESSION_UP;
    redis->up_since_ms = uv_now(redis->loop);
    uv_timer_stop(&redis->session_timer);
    if (redis->settings.ping_every_ms)
        start_timer(redis, redis->settings.ping_every_ms);
    tell(redis, REDIS_UP, shown);
}

void redis_session_answer(struct redis *redis, enum request_kind kind, const struct redis_reply *reply)
{
    bool is_error = reply_kind(reply) == REPLY_ERROR;
    const char *refused = NULL;
    switch (kind) {
    case REQUEST_AUTH:
        refused = is_error ? "AUTH refused" : NULL;
        break;
    case REQUEST_SELECT:
        refused = is_error ? "SELECT refused" : NULL;
        break;
    case REQUEST_READY: /* a user who may not PING is served all the same */
        refused = is_error && !reply_is_error(reply, "NOPERM") ? "redis is not ready" : NULL;
        break;
    case REQUEST_SUBSCRIBE:
        refused = text_is(reply_text(reply_at(reply, 0)), "subscribe") ? NULL : "SUBSCRIBE refused";
        break;
    case REQUEST_WATCHDOG:
        redis->pinging = false;
        refused = is_error && !reply_is_error(reply, "NOPERM") ? "redis is not ready any more" : NULL;
        if (!refused) {
            redis->answered = true;
            start_timer(redis, redis->settings.ping_every_ms);
        }
        break;
    case REQUEST_NAME: /* only for people looking at CLIENT LIST, and ACLs may forbid it */
    case REQUEST_CALL:
        break;
    }
    if (refused)
        redis_session_refused(redis, refused, reply);
    else if (redis->state == SESSION_GREETING && --redis->greetings == 0) /* the watchdog comes only when up */
        go_up(redis);
}

/* Calls on the wire have deadlines of their own; only silence without any needs a PING. */
static void watch(struct redis *redis)
{
    bool quiet = !redis->heard && redis->wire_calls == 0;
    redis->heard = false;
    if (redis->pinging) {
        redis_session_drop(redis, ERR_LOST, "PING was not answered in time");
    } else if (!quiet) {
        start_timer(redis, redis->settings.ping_every_ms);
    } else if (!send_ping(redis, REQUEST_WATCHDOG)) {
        redis_session_drop(redis, ERR_LOST, "out of memory");
    } else {
        redis->pinging = true;
        start_timer(redis, redis->settings.connect_timeout_ms);
    }
}

void redis_session_timer(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    switch (redis->state) {
    case SESSION_WAITING:
        connect_now(redis);
        break;
    case SESSION_CONNECTING:
        redis_session_drop(redis, ERR_LOST, "connecting took too long");
        break;
    case SESSION_GREETING:
        redis_session_drop(redis, ERR_LOST, "connected, but no answer in time");
        break;
    case SESSION_UP:
        watch(redis);
        break;
    case SESSION_CLOSING:
        break;
    }
}

void redis_session_arm(struct redis *redis)
{
    const struct deadline *first = redis_deadlines_first(&redis->deadlines);
    if (!first || first->at_ms >= redis->deadline_armed_ms)
        return;
    uint64_t now_ms = uv_now(redis->loop), delay_ms = first->at_ms > now_ms ? first->at_ms - now_ms : 0;
    redis->deadline_armed_ms = first->at_ms;
    uv_timer_start(&redis->deadline_timer, redis_session_deadline, delay_ms, 0);
}

/* After the process was held up, timers run before sockets are read: an answer that has arrived must still count. So a
 * deadline has passed only if the loop has polled once since. */
void redis_session_deadline(uv_timer_t *timer)
{
    struct redis *redis = timer->data;
    const struct deadline *first = redis_deadlines_first(&redis->deadlines);
    uint64_t now_ms = uv_now(redis->loop);
    bool passed = first && first->at_ms <= now_ms;
    if (passed && !redis->second_look) {
        redis->second_look = true;
        uv_timer_start(timer, redis_session_deadline, 1, 0);
        return;
    }
    redis->second_look = false;
    redis->deadline_armed_ms = UINT64_MAX;
    bool drop = redis_requests_expire(redis, now_ms);
    redis_session_arm(redis);
    if (drop && redis->link)
        redis_session_drop(redis, ERR_LOST, "a call was not answered in time");
    redis_requests_deliver(redis);
}

void redis_session_wake(struct redis *redis)
{
    if (redis->state != SESSION_CLOSING)
        uv_idle_start(&redis->turn, redis_session_turn);
}

void redis_session_turn(uv_idle_t *turn)
{
    struct redis *redis = turn->data;
    uv_idle_stop(turn);
    if (!redis->link)
        return;
    const char *why = redis->asked_to_reconnect ? redis->why : redis_requests_write(redis);
    if (why)
        redis_session_drop(redis, ERR_LOST, why);
}

void redis_session_let_go(void *data)
{
    struct redis *redis = data;
    CHECK(redis->held > 0);
    if (--redis->held > 0)
        return;
    CHECK(redis->state == SESSION_CLOSING && list_empty(&redis->wire) && list_empty(&redis->ended));
    void (*done)(void *data) = redis->on_closed;
    void *done_data = redis->on_closed_data;
    redis_parser_destroy(redis->parser);
    redis_deadlines_finish(&redis->deadlines);
    buf_finish(&redis->out);
    free(redis->channel);
    explicit_bzero(&redis->url, sizeof redis->url);
    free(redis);
    if (done)
        done(done_data);
}

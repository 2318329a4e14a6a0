#include "common/redis/redis.h"

#include "common/base/check.h"
#include "common/redis/client.h"

#define ARGUMENTS_MAX (1024 * 1024)
#define QUEUE_BYTES_MAX (512u * 1024 * 1024) /* hiredis counts in int */
#define STACK_ARGUMENTS 64

struct redis_settings redis_settings_default(void)
{
    return (struct redis_settings){
        .name = "anteroom",
        .window = 512,
        .queue_calls_max = 10000,
        .queue_bytes_max = 16 * 1024 * 1024,
        .reply_bytes_max = 16 * 1024 * 1024,
        .connect_timeout_ms = 5000,
        .ping_every_ms = 5000,
        .backoff_min_ms = 50,
        .backoff_max_ms = 1000,
    };
}

static void open_handles(struct redis *redis)
{
    int result = uv_timer_init(redis->loop, &redis->session_timer);
    result |= uv_timer_init(redis->loop, &redis->deadline_timer);
    result |= uv_idle_init(redis->loop, &redis->turn);
    CHECK(result == 0); /* they only link themselves into the loop */
    redis->session_timer.data = redis->deadline_timer.data = redis->turn.data = redis;
    redis->held = 3;
}

enum err redis_create(struct redis **out, uv_loop_t *loop, const struct redis_settings *settings)
{
    CHECK(settings->window > 0 && settings->connect_timeout_ms > 0);
    struct redis *redis = calloc(1, sizeof *redis);
    if (!redis)
        return ERR_NOMEM;
    redis->loop = loop;
    redis->settings = *settings;
    redis->url = *settings->url;
    redis->settings.url = &redis->url;
    snprintf(redis->name, sizeof redis->name, "%s", settings->name ? settings->name : "");
    redis->settings.name = redis->name;
    if (redis->settings.queue_bytes_max > QUEUE_BYTES_MAX)
        redis->settings.queue_bytes_max = QUEUE_BYTES_MAX;
    backoff_init(&redis->backoff, settings->backoff_min_ms, settings->backoff_max_ms);
    buf_init(&redis->out, SIZE_MAX / 4); /* bounded by what is gathered */
    list_init(&redis->queue);
    list_init(&redis->repeat);
    list_init(&redis->wire);
    list_init(&redis->ended);
    redis->deadline_armed_ms = UINT64_MAX;
    open_handles(redis);
    redis->state = SESSION_WAITING;
    uv_timer_start(&redis->session_timer, redis_session_timer, 0, 0);
    *out = redis;
    return OK;
}

static void on_handle_closed(uv_handle_t *handle)
{
    redis_session_let_go(handle->data);
}

void redis_close(struct redis *redis, void (*done)(void *data), void *data)
{
    CHECK(redis->state != SESSION_CLOSING);
    redis->state = SESSION_CLOSING; /* no call is taken from now on */
    redis->on_closed = done;
    redis->on_closed_data = data;
    redis_requests_end(redis, ERR_CANCELED, ERR_CANCELED, ERR_CANCELED);
    redis_requests_deliver(redis);
    if (redis->link)
        redis_link_close(redis->link, redis_session_let_go);
    redis->link = NULL;
    uv_close((uv_handle_t *)&redis->session_timer, on_handle_closed);
    uv_close((uv_handle_t *)&redis->deadline_timer, on_handle_closed);
    uv_close((uv_handle_t *)&redis->turn, on_handle_closed);
}

bool redis_is_up(const struct redis *redis)
{
    return redis->state == SESSION_UP;
}

size_t redis_pending(const struct redis *redis)
{
    return redis->queue_calls + redis->wire_calls;
}

void redis_reconnect(struct redis *redis, const char *why)
{
    if (redis->state == SESSION_CLOSING || !redis->link)
        return;
    redis->asked_to_reconnect = true;
    snprintf(redis->why, sizeof redis->why, "%s", why);
    redis_session_wake(redis);
}

static bool is_too_long(const struct redis *redis, size_t argc, const struct text *argv)
{
    size_t left = redis->settings.queue_bytes_max;
    for (size_t i = 0; i < argc; i++) {
        if (argv[i].len > left)
            return true;
        left -= argv[i].len;
    }
    return false;
}

static enum err start(struct redis *redis, const struct redis_script *script, size_t argc, const struct text *argv,
                      uint32_t timeout_ms, redis_callback *callback, void *data)
{
    CHECK(argc <= ARGUMENTS_MAX && !redis->channel);
    if (redis->state != SESSION_UP)
        return ERR_UNSENT;
    if (is_too_long(redis, argc, argv))
        return ERR_BUSY;
    struct redis_request *request = redis_request_create(REQUEST_CALL, argc, argv);
    if (!request)
        return ERR_NOMEM;
    request->callback = callback;
    request->data = data;
    request->script = script;
    if (script)
        request->command = script->name;
    enum err err = redis_request_queue(redis, request, timeout_ms);
    if (err != OK)
        redis_request_destroy(request);
    return err;
}

enum err redis_call(struct redis *redis, size_t argc, const struct text *argv, uint32_t timeout_ms,
                    redis_callback *callback, void *data)
{
    return start(redis, NULL, argc, argv, timeout_ms, callback, data);
}

enum err redis_eval(struct redis *redis, const struct redis_script *script, size_t key_count, const struct text *keys,
                    size_t arg_count, const struct text *args, uint32_t timeout_ms, redis_callback *callback,
                    void *data)
{
    CHECK(script->sha1[0] && key_count <= ARGUMENTS_MAX && arg_count <= ARGUMENTS_MAX); /* sha1: it was prepared */
    struct text stack[STACK_ARGUMENTS], *argv = stack;
    size_t argc = 3 + key_count + arg_count;
    char count[24];
    if (argc > STACK_ARGUMENTS && !(argv = malloc(argc * sizeof *argv)))
        return ERR_NOMEM;
    snprintf(count, sizeof count, "%zu", key_count);
    argv[0] = TEXT("EVALSHA");
    argv[1] = text_of(script->sha1);
    argv[2] = text_of(count);
    if (key_count)
        memcpy(argv + 3, keys, key_count * sizeof *keys);
    if (arg_count)
        memcpy(argv + 3 + key_count, args, arg_count * sizeof *args);
    enum err err = start(redis, script, argc, argv, timeout_ms, callback, data);
    if (argv != stack)
        free(argv);
    return err;
}

enum err redis_subscribe(struct redis *redis, struct text channel)
{
    CHECK(!redis->channel && redis_pending(redis) == 0);
    if (redis->state == SESSION_CLOSING)
        return ERR_CANCELED;
    char *copy = malloc(channel.len + 1);
    if (!copy)
        return ERR_NOMEM;
    if (channel.len)
        memcpy(copy, channel.at, channel.len);
    copy[channel.len] = '\0';
    redis->channel = copy;
    redis->channel_len = channel.len;
    bool is_open = redis->state == SESSION_GREETING || redis->state == SESSION_UP;
    if (!is_open || redis_session_subscribe(redis))
        return OK;
    redis->channel = NULL;
    free(copy);
    return ERR_NOMEM;
}

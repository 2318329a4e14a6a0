#include "common/redis/client.h"
#include "common/redis/parser.h"

/* After these the connection is of no use: the server starts, is no primary any more, or has lost its own. */
static bool means_elsewhere(const struct redis_reply *reply)
{
    static const char *const codes[] = {"READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "UNBLOCKED"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (reply_is_error(reply, codes[i]))
            return true;
    return false;
}

static void answer_call(struct redis *redis, struct redis_request *request, const struct redis_reply *reply)
{
    const struct redis_link *link = redis->link;
    if (request->script && !request->whole_script && reply_is_error(reply, "NOSCRIPT")) {
        request->whole_script = true;
        redis_request_repeat(redis, request);
        return;
    }
    bool useless = means_elsewhere(reply);
    if (!useless)
        redis->answered = true;
    redis_request_finish(redis, request, reply_kind(reply) == REPLY_ERROR ? ERR_REPLY : OK, reply);
    if (useless && redis->link == link)
        redis_session_refused(redis, "redis refuses work", reply);
}

static bool is_message(const struct redis *redis, const struct redis_reply *reply)
{
    return redis->channel && reply_len(reply) == 3 && text_is(reply_text(reply_at(reply, 0)), "message");
}

static void dispatch(struct redis *redis, const struct redis_reply *reply)
{
    const struct redis_hooks *hooks = &redis->settings.hooks;
    struct list *head = list_first(&redis->wire);
    if (is_message(redis, reply)) {
        redis->answered = true;
        if (hooks->on_message)
            hooks->on_message(hooks->data, reply_text(reply_at(reply, 1)), reply_text(reply_at(reply, 2)));
    } else if (!head) {
        redis_session_drop(redis, ERR_LOST, "an answer nobody asked for");
    } else {
        struct redis_request *request = CONTAINER_OF(head, struct redis_request, node);
        enum request_kind kind = request->kind;
        if (kind == REQUEST_CALL) {
            answer_call(redis, request, reply);
        } else {
            redis_request_finish(redis, request, OK, NULL);
            redis_session_answer(redis, kind, reply);
        }
    }
}

void redis_answer_bytes(void *data, const char *bytes, size_t len)
{
    struct redis *redis = data;
    const struct redis_link *link = redis->link;
    struct redis_parser *parser = redis->parser;
    redis->heard = true;
    if (redis_parser_feed(parser, bytes, len) != OK) {
        redis_session_drop(redis, ERR_PROTOCOL, "out of memory");
        return;
    }
    while (redis->link == link) { /* a callback may have dropped it, or closed us */
        const char *why = NULL;
        struct redis_reply *reply = redis_parser_next(parser, &why);
        if (why)
            redis_session_drop(redis, ERR_PROTOCOL, why);
        if (!reply)
            break;
        dispatch(redis, reply);
        redis_reply_free(reply);
    }
    if (redis->link == link && redis->queue_calls > 0)
        redis_session_wake(redis); /* the window has room again */
}

#include "common/redis/client.h"

#include <hiredis/hiredis.h>

#define ELEMENT_BYTES_MIN 3 /* "+\r\n" */

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

struct redis_parser {
    redisReader *reader;
    redisReplyObjectFunctions functions;
    void *(*create_array)(const redisReadTask *task, element_count count);
    size_t reply_bytes_max, elements_max, elements_left; /* of the reply being read */
    uint64_t fed, start;                                 /* bytes since the connection began; where the reply began */
    bool too_long;
};

/* hiredis makes room for as many elements as an array says it has: refuse what cannot fit before that. */
static void *create_array(const redisReadTask *task, element_count count)
{
    struct redis_parser *parser = task->privdata;
    size_t wanted = count > 0 ? (size_t)count : 0;
    if (wanted > parser->elements_left) {
        parser->too_long = true;
        return NULL;
    }
    parser->elements_left -= wanted;
    return parser->create_array(task, count);
}

enum err redis_parser_reset(struct redis *redis)
{
    redis_parser_finish(redis);
    struct redis_parser *parser = calloc(1, sizeof *parser);
    redisReader *reader = redisReaderCreate();
    if (!parser || !reader)
        goto fail;
    parser->reader = reader;
    parser->functions = *reader->fn;
    parser->create_array = parser->functions.createArray;
    parser->functions.createArray = create_array;
    parser->reply_bytes_max = redis->settings.reply_bytes_max;
    parser->elements_max = parser->elements_left = parser->reply_bytes_max / ELEMENT_BYTES_MIN;
    reader->fn = &parser->functions;
    reader->privdata = parser;
    redis->parser = parser;
    return OK;

fail:
    if (reader)
        redisReaderFree(reader);
    free(parser);
    return ERR_NOMEM;
}

void redis_parser_finish(struct redis *redis)
{
    if (!redis->parser)
        return;
    redisReaderFree(redis->parser->reader);
    free(redis->parser);
    redis->parser = NULL;
}

/* The next whole reply; NULL when there is none yet, or with *WHY set when there can be none. */
static redisReply *next_reply(struct redis_parser *parser, const char **why)
{
    redisReader *reader = parser->reader;
    void *reply = NULL;
    if (redisReaderGetReply(reader, &reply) != REDIS_OK) {
        *why = parser->too_long ? "reply too long" : reader->errstr;
        return NULL;
    }
    uint64_t end = reply ? parser->fed - (reader->len - reader->pos) : parser->fed;
    if (end - parser->start > parser->reply_bytes_max) {
        *why = "reply too long";
        freeReplyObject(reply);
        return NULL;
    }
    if (reply) {
        parser->start = end;
        parser->elements_left = parser->elements_max;
    }
    return reply;
}

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
    if (redisReaderFeed(parser->reader, bytes, len) != REDIS_OK) {
        redis_session_drop(redis, ERR_PROTOCOL, "out of memory");
        return;
    }
    parser->fed += len;
    while (redis->link == link) { /* a callback may have dropped it, or closed us */
        const char *why = NULL;
        redisReply *reply = next_reply(parser, &why);
        if (why)
            redis_session_drop(redis, ERR_PROTOCOL, why);
        if (!reply)
            break;
        dispatch(redis, (const struct redis_reply *)(const void *)reply);
        freeReplyObject(reply);
    }
    if (redis->link == link && redis->queue_calls > 0)
        redis_session_wake(redis); /* the window has room again */
}

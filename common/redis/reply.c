#include "common/redis/reply.h"

#include <hiredis/hiredis.h>

/* The opaque struct is hiredis' own: nobody else needs to know. */
static const redisReply *raw(const struct redis_reply *reply)
{
    return (const redisReply *)(const void *)reply;
}

enum reply_kind reply_kind(const struct redis_reply *reply)
{
    if (!reply)
        return REPLY_NIL;
    switch (raw(reply)->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return REPLY_STRING;
    case REDIS_REPLY_INTEGER:
        return REPLY_INTEGER;
    case REDIS_REPLY_ARRAY:
        return REPLY_ARRAY;
    case REDIS_REPLY_ERROR:
        return REPLY_ERROR;
    default: /* newer kinds come only to those who asked for RESP3 */
        return REPLY_NIL;
    }
}

struct text reply_text(const struct redis_reply *reply)
{
    enum reply_kind kind = reply_kind(reply);
    if (kind != REPLY_STRING && kind != REPLY_ERROR)
        return (struct text){NULL, 0};
    return (struct text){raw(reply)->str, (size_t)raw(reply)->len};
}

int64_t reply_int(const struct redis_reply *reply, int64_t fallback)
{
    int64_t value;
    switch (reply_kind(reply)) {
    case REPLY_INTEGER:
        return raw(reply)->integer;
    case REPLY_STRING:
        return text_int(reply_text(reply), INT64_MIN, INT64_MAX, &value) == OK ? value : fallback;
    case REPLY_NIL:
    case REPLY_ARRAY:
    case REPLY_ERROR:
        break;
    }
    return fallback;
}

size_t reply_len(const struct redis_reply *reply)
{
    return reply_kind(reply) == REPLY_ARRAY ? raw(reply)->elements : 0;
}

const struct redis_reply *reply_at(const struct redis_reply *reply, size_t index)
{
    if (index >= reply_len(reply))
        return NULL;
    return (const struct redis_reply *)(const void *)raw(reply)->element[index];
}

bool reply_is_error(const struct redis_reply *reply, const char *code)
{
    if (reply_kind(reply) != REPLY_ERROR)
        return false;
    struct text rest = reply_text(reply), word;
    return text_next(&rest, ' ', &word) && text_is(word, code);
}

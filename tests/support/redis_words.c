#include "tests/support/redis_words.h"

#include "common/base/buf.h"
#include "common/base/check.h"

#include <hiredis/hiredis.h>

struct redis_reply *reply_parse(const char *bytes, size_t len)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    CHECK(redisReaderFeed(reader, bytes, len) == REDIS_OK && redisReaderGetReply(reader, &reply) == REDIS_OK && reply);
    redisReaderFree(reader);
    return reply;
}

struct redis_reply *reply_words(const char *const *words)
{
    struct buf wire;
    size_t count = 0;
    buf_init(&wire, 1 << 20);
    while (words[count])
        count++;
    CHECK(buf_format(&wire, "*%zu\r\n", count) == OK);
    for (size_t i = 0; i < count; i++)
        CHECK((words[i][0] == '#' ? buf_format(&wire, ":%s\r\n", words[i] + 1)
                                  : buf_format(&wire, "$%zu\r\n%s\r\n", strlen(words[i]), words[i])) == OK);
    struct redis_reply *reply = reply_parse(wire.data, wire.len);
    buf_finish(&wire);
    return reply;
}

void reply_words_free(struct redis_reply *reply)
{
    freeReplyObject(reply);
}

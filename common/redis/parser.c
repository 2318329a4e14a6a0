#include "common/redis/parser.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

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
    size_t held;                                         /* the most bytes the reader had at once */
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

/* Takes READER. */
static void reader_use(struct redis_parser *parser, redisReader *reader)
{
    parser->functions = *reader->fn;
    parser->create_array = parser->functions.createArray;
    parser->functions.createArray = create_array;
    reader->fn = &parser->functions;
    reader->privdata = parser;
    reader->maxbuf = 0; /* it would assert that it has memory for a smaller buffer */
    parser->reader = reader;
    parser->held = 0;
}

enum err redis_parser_create(struct redis_parser **out, size_t reply_bytes_max)
{
    struct redis_parser *parser = calloc(1, sizeof *parser);
    redisReader *reader = redisReaderCreate();
    if (!parser || !reader) {
        if (reader)
            redisReaderFree(reader);
        free(parser);
        return ERR_NOMEM;
    }
    reader_use(parser, reader);
    parser->reply_bytes_max = reply_bytes_max;
    parser->elements_max = parser->elements_left = reply_bytes_max / ELEMENT_BYTES_MIN;
    *out = parser;
    return OK;
}

void redis_parser_destroy(struct redis_parser *parser)
{
    if (!parser)
        return;
    redisReaderFree(parser->reader);
    free(parser);
}

/* Between two replies a large buffer is given back, if there is memory for another. */
static void shrink(struct redis_parser *parser)
{
    redisReader *fresh = redisReaderCreate();
    if (!fresh)
        return;
    redisReaderFree(parser->reader);
    reader_use(parser, fresh);
}

enum err redis_parser_feed(struct redis_parser *parser, const char *bytes, size_t len)
{
    if (parser->held > REDIS_PARSER_BYTES_KEPT && parser->fed == parser->start)
        shrink(parser);
    if (redisReaderFeed(parser->reader, bytes, len) != REDIS_OK)
        return ERR_NOMEM;
    parser->fed += len;
    if (parser->reader->len > parser->held)
        parser->held = parser->reader->len;
    return OK;
}

struct redis_reply *redis_parser_next(struct redis_parser *parser, const char **why)
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

void redis_reply_free(struct redis_reply *reply)
{
    freeReplyObject(reply);
}

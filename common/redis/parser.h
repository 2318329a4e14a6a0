/** From the bytes of a connection to replies, within limits: a reply's bytes, and the elements its arrays claim to
 * have, so that nothing is made room for that cannot come. Pure. */
#ifndef ANTEROOM_REDIS_PARSER_H
#define ANTEROOM_REDIS_PARSER_H

#include "common/base/err.h"
#include "common/redis/reply.h"

struct redis_parser;

#define REDIS_PARSER_BYTES_KEPT 16384 /* of a buffer that a large reply made */

MUST_CHECK enum err redis_parser_create(struct redis_parser **out, size_t reply_bytes_max);
void redis_parser_destroy(struct redis_parser *parser);
/** ERR_NOMEM: the parser is of no use any more. */
MUST_CHECK enum err redis_parser_feed(struct redis_parser *parser, const char *bytes, size_t len);
/** The next whole reply, to be freed; NULL when there is none yet, or with *WHY set when there can be none. */
struct redis_reply *redis_parser_next(struct redis_parser *parser, const char **why);
void redis_reply_free(struct redis_reply *reply);

#endif

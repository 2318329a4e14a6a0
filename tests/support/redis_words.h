/** Replies for tests of what reads them: an array of bulk strings, as Redis would send it. */
#ifndef ANTEROOM_TESTS_REDIS_WORDS_H
#define ANTEROOM_TESTS_REDIS_WORDS_H

#include "common/redis/reply.h"

/** WORDS ends with NULL; "#12" is the integer 12. Free with reply_words_free. */
struct redis_reply *reply_words(const char *const *words);
/** One reply as it comes over the wire. */
struct redis_reply *reply_parse(const char *bytes, size_t len);
void reply_words_free(struct redis_reply *reply);

#endif

/** Read-only view of a reply. Borrowed for the callback it came in. Every accessor accepts NULL and wrong kinds: an
 *  answer that is not what was expected reads as nil, never as a crash. */
#ifndef ANTEROOM_REDIS_REPLY_H
#define ANTEROOM_REDIS_REPLY_H

#include "common/base/err.h"
#include "common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_reply;

enum reply_kind { REPLY_NIL, REPLY_STRING, REPLY_INTEGER, REPLY_ARRAY, REPLY_ERROR };

/** Status replies ("+OK") are strings. */
enum reply_kind reply_kind(const struct redis_reply *reply);
/** Strings, statuses and errors; {NULL, 0} for the rest. */
struct text reply_text(const struct redis_reply *reply);
/** An integer, or a string that is one; FALLBACK for the rest. */
int64_t reply_int(const struct redis_reply *reply, int64_t fallback);
/** Elements of an array; 0 for the rest. */
size_t reply_len(const struct redis_reply *reply);
/** NULL past the end or for what is no array. */
const struct redis_reply *reply_at(const struct redis_reply *reply, size_t index);
/** An error reply whose first word is CODE, e.g. "NOGROUP". */
bool reply_is_error(const struct redis_reply *reply, const char *code);

#endif

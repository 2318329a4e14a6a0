/** Whether jansson or OpenSSL was refused memory, as they do not always say: jansson's reader leaves a byte out, an
 * object a member, and a signature that could not be checked looks like one that does not hold. Whoever must not take
 * that for an answer compares before and after. One thread. */
#ifndef ANTEROOM_LINE_MEMORY_H
#define ANTEROOM_LINE_MEMORY_H

#include <jansson.h>
#include <stddef.h>

/** First thing in main: OpenSSL takes it before its first allocation only. */
void memory_init(void);
/** How many allocations of theirs were refused so far. */
size_t memory_refused(void);
/** What json_dumps gives, to be freed; NULL also where it left a name out for want of memory. */
char *memory_dumps(const json_t *json, size_t flags);

#endif

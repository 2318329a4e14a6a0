/** Whether jansson or OpenSSL was refused memory, as they do not always say: jansson's reader leaves a byte out, an
 * object a member, and a signature that could not be checked looks like one that does not hold. Whoever must not take
 * that for an answer compares before and after. One thread. */
#ifndef ANTEROOM_LINE_MEMORY_H
#define ANTEROOM_LINE_MEMORY_H

#include <stddef.h>

/** First thing in main: OpenSSL takes it before its first allocation only. */
void memory_init(void);
/** How many allocations of theirs were refused so far. */
size_t memory_refused(void);

#endif

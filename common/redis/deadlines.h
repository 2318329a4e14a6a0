/** Deadlines in order: a binary heap of nodes inside the owner's structs, as calls have timeouts of their own and are
 *  mostly answered long before. Pure. */
#ifndef ANTEROOM_REDIS_DEADLINES_H
#define ANTEROOM_REDIS_DEADLINES_H

#include "common/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct deadline {
    uint64_t at_ms;
    size_t place; /* in the heap, from 1; 0 = in none */
};

struct deadlines {
    struct deadline **heap;
    size_t len, cap;
};

/** Frees the table; the nodes are the caller's. */
void redis_deadlines_finish(struct deadlines *deadlines);
/** ERR_NOMEM; the node is then in no heap. */
MUST_CHECK enum err redis_deadlines_add(struct deadlines *deadlines, struct deadline *deadline);
/** Does nothing for a node that is in no heap. */
void redis_deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

/** The earliest; NULL when empty. */
static inline struct deadline *redis_deadlines_first(const struct deadlines *deadlines)
{
    return deadlines->len ? deadlines->heap[0] : NULL;
}

#endif

/** The connections of one session on this gateway in the order of their tickets. An array of (ticket, place): a walk
 * touches no place that has nothing to hear. Adding appends, removing leaves a hole; sorting and closing holes wait for
 * the next walk. Pure. */
#ifndef ANTEROOM_GATEWAY_ROSTER_H
#define ANTEROOM_GATEWAY_ROSTER_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place;

struct roster_row {
    uint64_t ticket;
    struct place *place; /* NULL: a hole */
};

struct roster {
    struct roster_row *rows;
    size_t len, cap, holes;
    bool sorted;
    /** Told the new index of a place whenever it moves. */
    void (*moved)(struct place *place, size_t index);
};

void roster_init(struct roster *roster, void (*moved)(struct place *place, size_t index));
void roster_finish(struct roster *roster);
/** ERR_NOMEM. */
MUST_CHECK enum err roster_add(struct roster *roster, uint64_t ticket, struct place *place);
void roster_remove(struct roster *roster, size_t index);
size_t roster_count(const struct roster *roster);
/** Sorts and closes holes. Not while somebody holds an index into it. */
void roster_tidy(struct roster *roster);

#endif

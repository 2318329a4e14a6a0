/** Exact positions without asking anybody: what one gateway knows of one line, and the arithmetic on it. Pure.
 *
 *      position(t) = (t - h) - |departed in (h, t]|      h = max(head, base)
 *
 *  A departure is one bit a ticket; a popcount over 64-bit words answers a position, and a walk in ticket order carries
 * the count along, so that everybody's position costs one pass over the words between head and tail. */
#ifndef ANTEROOM_GATEWAY_POSITIONS_H
#define ANTEROOM_GATEWAY_POSITIONS_H

#include "common/base/err.h"
#include "common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of 64 M tickets between base and tail: 8 MiB of bits. Past it departures are not taken (ERR_TOO_BIG). */
#define POSITIONS_WORDS_MAX (1u << 20)

struct positions {
    uint64_t epoch, rev, base, head, tail, waiting;
    uint64_t first;  /* the ticket of bit 0 of words[0]; a multiple of 64 */
    uint64_t *words; /* bit i of words[w] is ticket first + 64 w + i */
    size_t word_count;
};

void positions_init(struct positions *positions);
void positions_finish(struct positions *positions);

/** A snapshot: everything is replaced. BITS as GETRANGE gives them: the highest bit of the first byte is ticket FIRST.
 */
struct positions_picture {
    uint64_t epoch, rev, base, head, tail, waiting, first;
    struct text bits;
};
MUST_CHECK enum err positions_load(struct positions *positions, const struct positions_picture *picture);

/** The next announcement (rev + 1 of the same epoch: the caller checked). DEPARTED is the message's list. ERR_INVALID:
 * a malformed list, nothing was taken; ERR_TOO_BIG, ERR_NOMEM: load a picture. */
MUST_CHECK enum err positions_advance(struct positions *positions, uint64_t rev, uint64_t base, uint64_t head,
                                      uint64_t tail, uint64_t waiting, struct text departed);

/** The ticket everybody waiting is above. */
uint64_t positions_front(const struct positions *positions);
bool positions_departed(const struct positions *positions, uint64_t ticket);
/** 1 = next; 0 for a ticket that does not wait any more. */
uint64_t positions_of(const struct positions *positions, uint64_t ticket);

/** A walk over ascending tickets: the departures up to TICKET, carried along. */
struct positions_walk {
    uint64_t ticket; /* counted so far: (front, ticket] */
    uint64_t departed;
};
void positions_walk_start(const struct positions *positions, struct positions_walk *walk);
/** Position of TICKET ≥ the last one asked; 0 where TICKET is not above the front. */
uint64_t positions_walk_to(const struct positions *positions, struct positions_walk *walk, uint64_t ticket);

#endif

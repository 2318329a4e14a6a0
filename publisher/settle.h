/** One chunk of a tick's settling: signed tokens, ready for the settle script. Pure but for the key. */
#ifndef ANTEROOM_PUBLISHER_SETTLE_H
#define ANTEROOM_PUBLISHER_SETTLE_H

#include "common/base/buf.h"
#include "publisher/admission.h"

#define SETTLE_CHUNK 200

struct settle_chunk {
    struct text args[3 * SETTLE_CHUNK]; /* place, token, when it expires, … */
    size_t count;                       /* of args */
    struct buf tokens;
    char expiries[SETTLE_CHUNK][24];
};

void settle_chunk_init(struct settle_chunk *chunk);
void settle_chunk_finish(struct settle_chunk *chunk);
/** Signs for PLACES (at most SETTLE_CHUNK; borrowed). A place that cannot be signed for is left out and the error
 *  returned, once all others are in. */
MUST_CHECK enum err settle_chunk_sign(struct settle_chunk *chunk, const struct token_key *key, const char *issuer,
                                      struct text session, const struct outbox_place *places, size_t count);

#endif

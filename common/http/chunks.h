/** The strict check of a chunked body's framing, byte by byte ahead of llhttp, which lets more through and has no
 * limits. It knows where the body ends, so that not one byte of the next request is given to the parser. Pure. */
#ifndef ANTEROOM_HTTP_CHUNKS_H
#define ANTEROOM_HTTP_CHUNKS_H

#include "common/http/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_DIGITS_MAX 8
#define CHUNK_EXTENSION_BYTES_MAX 256 /* of all chunks of a body together */

enum chunks_state {
    CHUNKS_SIZE,
    CHUNKS_EXTENSION,
    CHUNKS_SIZE_LF,
    CHUNKS_DATA,
    CHUNKS_DATA_CR,
    CHUNKS_DATA_LF,
    CHUNKS_END_CR,
    CHUNKS_END_LF,
    CHUNKS_DONE
};

struct chunks {
    enum chunks_state state;
    uint32_t digits, left, total, extension_bytes;
};

void chunks_init(struct chunks *chunks);
/** How many of the bytes are in order: up to the body's end or the first bad byte, *REFUSAL says which. */
size_t chunks_step(struct chunks *chunks, const char *bytes, size_t len, enum http_refusal *refusal);

static inline bool chunks_done(const struct chunks *chunks)
{
    return chunks->state == CHUNKS_DONE;
}

#endif

#include "common/http/chunks.h"

#include "common/http/head.h"

void chunks_init(struct chunks *chunks)
{
    *chunks = (struct chunks){.state = CHUNKS_SIZE};
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum http_refusal size_byte(struct chunks *chunks, char c)
{
    int digit = hex_digit(c);
    if (digit >= 0) {
        chunks->left = chunks->left << 4 | (uint32_t)digit;
        return ++chunks->digits > CHUNK_DIGITS_MAX ? REFUSE_CHUNK : REFUSE_NOT;
    }
    if (chunks->digits == 0 || (c != ';' && c != '\r'))
        return REFUSE_CHUNK;
    chunks->state = c == ';' ? CHUNKS_EXTENSION : CHUNKS_SIZE_LF;
    return REFUSE_NOT;
}

static enum http_refusal extension_byte(struct chunks *chunks, char c)
{
    if (c == '\r') {
        chunks->state = CHUNKS_SIZE_LF;
        return REFUSE_NOT;
    }
    if ((c < ' ' && c != '\t') || c > '~' || ++chunks->extension_bytes > CHUNK_EXTENSION_BYTES_MAX)
        return REFUSE_CHUNK;
    return REFUSE_NOT;
}

static enum http_refusal size_end(struct chunks *chunks)
{
    if (chunks->left > HTTP_BODY_MAX - chunks->total)
        return REFUSE_BODY_LONG;
    chunks->total += chunks->left;
    chunks->digits = 0;
    chunks->state = chunks->left ? CHUNKS_DATA : CHUNKS_END_CR;
    return REFUSE_NOT;
}

static enum http_refusal expect(struct chunks *chunks, char c, char wanted, enum chunks_state next,
                                enum http_refusal otherwise)
{
    if (c != wanted)
        return otherwise;
    chunks->state = next;
    return REFUSE_NOT;
}

static enum http_refusal chunk_byte(struct chunks *chunks, char c)
{
    switch (chunks->state) {
    case CHUNKS_SIZE:
        return size_byte(chunks, c);
    case CHUNKS_EXTENSION:
        return extension_byte(chunks, c);
    case CHUNKS_SIZE_LF:
        return c == '\n' ? size_end(chunks) : REFUSE_CHUNK;
    case CHUNKS_DATA_CR:
        return expect(chunks, c, '\r', CHUNKS_DATA_LF, REFUSE_CHUNK);
    case CHUNKS_DATA_LF:
        return expect(chunks, c, '\n', CHUNKS_SIZE, REFUSE_CHUNK);
    case CHUNKS_END_CR:
        return expect(chunks, c, '\r', CHUNKS_END_LF, REFUSE_TRAILER);
    case CHUNKS_END_LF:
        return expect(chunks, c, '\n', CHUNKS_DONE, REFUSE_CHUNK);
    case CHUNKS_DATA:
    case CHUNKS_DONE:
        break;
    }
    return REFUSE_CHUNK;
}

size_t chunks_step(struct chunks *chunks, const char *bytes, size_t len, enum http_refusal *refusal)
{
    size_t at = 0;
    *refusal = REFUSE_NOT;
    while (at < len && chunks->state != CHUNKS_DONE) {
        if (chunks->state == CHUNKS_DATA) {
            size_t take = len - at < chunks->left ? len - at : chunks->left;
            at += take;
            chunks->left -= (uint32_t)take;
            if (chunks->left == 0)
                chunks->state = CHUNKS_DATA_CR;
            continue;
        }
        *refusal = chunk_byte(chunks, bytes[at]);
        if (*refusal != REFUSE_NOT)
            return at;
        at++;
    }
    return at;
}

#include "publisher/settle.h"

#include "common/base/check.h"

#include <inttypes.h>
#include <stdio.h>

void settle_chunk_init(struct settle_chunk *chunk)
{
    chunk->count = 0;
    buf_init(&chunk->tokens, SETTLE_CHUNK * TOKEN_MAX);
}

void settle_chunk_finish(struct settle_chunk *chunk)
{
    buf_finish(&chunk->tokens);
    chunk->count = 0;
}

static enum err sign(struct buf *tokens, const struct token_key *key, const char *issuer, struct text session,
                     const struct outbox_place *place)
{
    char token[TOKEN_MAX];
    struct entry_claims claims = {
        .issuer = text_of(issuer),
        .session = session,
        .subject = text_of(place->user[0] ? place->user : place->place),
        .place = text_of(place->place),
        .ticket = place->ticket,
        .issued_s = place->issued_s,
        .expires_s = place->expires_s,
    };
    enum err err = token_sign_entry(key, &claims, token, sizeof token);
    return err == OK ? buf_text(tokens, text_of(token)) : err;
}

enum err settle_chunk_sign(struct settle_chunk *chunk, const struct token_key *key, const char *issuer,
                           struct text session, const struct outbox_place *places, size_t count)
{
    enum err result = OK;
    CHECK(count <= SETTLE_CHUNK && chunk->count == 0);
    for (size_t i = 0; i < count; i++) {
        size_t start = chunk->tokens.len;
        enum err err = sign(&chunk->tokens, key, issuer, session, &places[i]);
        if (err != OK) {
            result = err;
            continue;
        }
        snprintf(chunk->expiries[i], sizeof chunk->expiries[i], "%" PRId64, places[i].expires_s);
        chunk->args[chunk->count++] = text_of(places[i].place);
        chunk->args[chunk->count++] = (struct text){NULL, chunk->tokens.len - start};
        chunk->args[chunk->count++] = text_of(chunk->expiries[i]);
    }
    const char *at = chunk->tokens.data; /* only now: it moved while it grew */
    for (size_t i = 1; i < chunk->count; at += chunk->args[i].len, i += 3)
        chunk->args[i].at = at;
    return result;
}

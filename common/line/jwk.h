/** Keys as JSON (RFC 7517, RFC 7518): read a site's, write our public ones. */
#ifndef ANTEROOM_LINE_JWK_H
#define ANTEROOM_LINE_JWK_H

#include "common/line/key.h"

#include <jansson.h>

/** A verifying key for ALG. ERR_MISSING: it is of another kind, algorithm or use, and no business of ours. ERR_INVALID,
 *  ERR_RANGE, ERR_NOMEM: it is malformed or too weak, and *REASON says it in a few words. */
MUST_CHECK enum err jwk_read(struct token_key **out, enum token_alg alg, const json_t *jwk, const char **reason);
/** The public half of an ES256 or RS256 key, with use, alg and kid. */
MUST_CHECK enum err jwk_write(struct buf *out, const struct token_key *key);

#endif

/** The compact form of a signed token (RFC 7515): from its text to the claims that were signed. The algorithm is the
 *  key's, never the token's. Pure. */
#ifndef ANTEROOM_LINE_JWS_H
#define ANTEROOM_LINE_JWS_H

#include "common/line/keyring.h"

#include <jansson.h>

#define TOKEN_MAX 2048 /* with its NUL */

enum jws_kind {
    JWS_OURS,  /* typ is JWT and kid names a key: how we sign */
    JWS_SITES, /* typ is absent or JWT; without a kid every key is tried */
};

/** The claims of TOKEN as a new reference, where one of RING's keys made its signature. Duplicate members are refused,
 * in the header too, and so is `crit`. ERR_DENIED; ERR_NOMEM: nobody knows what it is worth. */
MUST_CHECK enum err jws_open(const struct keyring *ring, enum jws_kind kind, struct text token, json_t **claims);
/** The claims of a token whose signature nobody looks at: it came from Redis. ERR_INVALID, ERR_NOMEM. */
MUST_CHECK enum err jws_peek(struct text token, json_t **claims);
/** Writes a terminated token of CLAIMS (JSON) with alg, kid and typ JWT. ERR_TOO_BIG, ERR_NOMEM, ERR_IO (the key
 * refuses).
 */
MUST_CHECK enum err jws_sign(const struct token_key *key, struct text claims, char *dst, size_t size);
/** Likewise, under a HEADER that is base64url already. */
MUST_CHECK enum err jws_seal(const struct token_key *key, struct text header, struct text claims, char *dst,
                             size_t size);

#endif

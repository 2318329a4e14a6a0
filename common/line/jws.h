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

/** The claims of TOKEN as a new reference, where one of RING's keys made its signature; else NULL. Duplicate members
 * are refused, in the header too, and so is `crit`. */
json_t *jws_open(const struct keyring *ring, enum jws_kind kind, struct text token);
/** The claims of a token whose signature nobody looks at: it came from Redis. NULL where there are none. */
json_t *jws_peek(struct text token);

#endif

/** The keys that tokens of one kind may be signed with: two of ours while they are rotated, several of a site's. One
 *  algorithm for all, fixed by configuration. */
#ifndef ANTEROOM_LINE_KEYRING_H
#define ANTEROOM_LINE_KEYRING_H

#include "common/line/key.h"

#define KEYRING_MAX 16

/** Empty when all zero. Owns its keys. */
struct keyring {
    size_t count;
    struct token_key *keys[KEYRING_MAX];
};

/** Takes KEY over, also when it fails. ERR_TOO_BIG past KEYRING_MAX. */
MUST_CHECK enum err keyring_add(struct keyring *ring, struct token_key *key);
/** Our own keys from FILE (its id is KEY_ID, or from its hash when "") and from NEXT: "" or a file that is missing or
 *  empty: there is no next one. SIGNING and WHY as token_key_load; RING is empty on failure. ERR_INVALID: both are the
 * same key, or NEXT is named beside a KEY_ID. */
MUST_CHECK enum err keyring_load_pair(struct keyring *ring, enum token_alg alg, const char *file, const char *key_id,
                                      const char *next, bool signing, char *why, size_t why_size);
/** A site's verifying keys: a secret, a public PEM, or a JWKS (RFC 7517) with 1 to KEYRING_MAX keys that fit ALG; those
 * of another kind are left out. RING is empty on failure, and WHY holds one sentence without a key. */
MUST_CHECK enum err keyring_load_site(struct keyring *ring, enum token_alg alg, const char *file, char *why,
                                      size_t why_size);
void keyring_finish(struct keyring *ring);
bool keyring_has(const struct keyring *ring, const struct token_key *key);
/** The public keys as a JWKS; secrets are left out. ERR_NOMEM, ERR_TOO_BIG. */
MUST_CHECK enum err keyring_write(const struct keyring *ring, struct buf *out);

#endif

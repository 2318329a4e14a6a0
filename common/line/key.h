/** A key of signed things: a secret or a PEM with the one algorithm it is for. Never logged. */
#ifndef ANTEROOM_LINE_KEY_H
#define ANTEROOM_LINE_KEY_H

#include "common/base/err.h"
#include "common/base/text.h"

#include <stdbool.h>

enum token_alg { TOKEN_HS256, TOKEN_ES256, TOKEN_RS256 };

/** ERR_INVALID for anything but HS256, ES256, RS256. */
MUST_CHECK enum err token_alg_parse(struct text name, enum token_alg *alg);
const char *token_alg_name(enum token_alg alg);

/** Read by the codecs of this folder; everybody else uses the functions. */
struct token_key {
    enum token_alg alg;
    char id[65];
    unsigned char fingerprint[32]; /* of the secret, or of the public key */
    int len;
    unsigned char bytes[]; /* the secret or the PEM, terminated */
};

/** Reads a secret (HS256: the file's bytes less one trailing newline, ≥ 32) or a PEM. KEY_ID NULL or "": from the hash
 * of the public part. SIGNING: the PEM must hold a private key. On failure WHY holds one sentence without the key. */
MUST_CHECK enum err token_key_load(struct token_key **out, enum token_alg alg, const char *file, const char *key_id,
                                   bool signing, char *why, size_t why_size);
void token_key_destroy(struct token_key *key);
const char *token_key_id(const struct token_key *key);
/** The same secret or the same public key. */
bool token_key_same(const struct token_key *a, const struct token_key *b);

#endif

/** A key of signed things: a secret or a PEM with the one algorithm it is for. Never logged. */
#ifndef ANTEROOM_LINE_KEY_H
#define ANTEROOM_LINE_KEY_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/text.h"

#include <stdbool.h>

enum token_alg { TOKEN_HS256, TOKEN_ES256, TOKEN_RS256 };

/** ERR_INVALID for anything but HS256, ES256, RS256. */
MUST_CHECK enum err token_alg_parse(struct text name, enum token_alg *alg);
const char *token_alg_name(enum token_alg alg);

#define KEY_FILE_MAX 65536 /* bytes of a key file */
#define KEY_SECRET_MIN 32  /* bytes of an HS256 secret */
#define KEY_ID_MAX 128
#define KEY_MAC_LEN 32

/** Read by the codecs of this folder; everybody else uses the functions. */
struct token_key {
    enum token_alg alg;
    bool named; /* tokens of this key carry its id as kid; else the id is ours, and a kid says nothing */
    char id[KEY_ID_MAX + 1];
    unsigned char fingerprint[32]; /* of the secret, or of the public key */
    struct evp_pkey_st *pkey;      /* ES256, RS256: parsed once */
    int len;
    unsigned char bytes[]; /* the secret or the PEM, terminated; nothing where the key came from a JWKS */
};

/** Reads a secret (HS256: the file's bytes less one trailing newline, ≥ KEY_SECRET_MIN) or a PEM. KEY_ID NULL or "":
 * from the hash of the public part. SIGNING: the PEM must hold a private key. On failure WHY holds one sentence without
 * the key. */
MUST_CHECK enum err token_key_load(struct token_key **out, enum token_alg alg, const char *file, const char *key_id,
                                   bool signing, char *why, size_t why_size);
void token_key_destroy(struct token_key *key);
const char *token_key_id(const struct token_key *key);
/** The same secret or the same public key. */
bool token_key_same(const struct token_key *a, const struct token_key *b);

/** A whole key file of 1 to KEY_FILE_MAX bytes. *REASON is a few words when it fails: ERR_MISSING (there is none, or it
 * is empty), ERR_IO, ERR_TOO_BIG, ERR_NOMEM. Take it back with key_file_forget, whatever came of it. */
MUST_CHECK enum err key_file_read(struct buf *buf, const char *file, const char **reason);
void key_file_forget(struct buf *buf);
/** A key from a secret or a PEM (copied). *REASON is a few words when it fails. */
MUST_CHECK enum err token_key_of_bytes(struct token_key **out, enum token_alg alg, struct text bytes, bool signing,
                                       const char **reason);
/** A verifying key for ES256 or RS256; takes PKEY over, also when it fails. */
MUST_CHECK enum err token_key_of_public(struct token_key **out, enum token_alg alg, struct evp_pkey_st *pkey,
                                        const char **reason);
/** HMAC-SHA256 with an HS256 key. False: OpenSSL has no memory for it. */
MUST_CHECK bool token_key_mac(const struct token_key *key, struct text text, unsigned char out[KEY_MAC_LEN]);

#endif

/** Signed things: the entry token the site checks, the resume ticket the visitor keeps, the user token the site issues.
 *  The only door to libjwt. A verifier pins the algorithm and checks every claim itself; no key or token is ever logged. */
#ifndef ANTEROOM_LINE_TOKEN_H
#define ANTEROOM_LINE_TOKEN_H

#include "common/line/keyspace.h"

#include <stdbool.h>
#include <stdint.h>

enum token_alg { TOKEN_HS256, TOKEN_ES256, TOKEN_RS256 };

/** ERR_INVALID for anything but HS256, ES256, RS256. */
MUST_CHECK enum err token_alg_parse(struct text name, enum token_alg *alg);

struct token_key;

#define TOKEN_MAX 2048
#define USER_ID_MAX 128

/** Reads a secret (HS256: the file's bytes less one trailing newline, ≥ 32) or a PEM. KEY_ID NULL or "": from the hash of
 *  the public part. SIGNING: the PEM must hold a private key. On failure WHY holds one sentence without the key. */
MUST_CHECK enum err token_key_load(struct token_key **out, enum token_alg alg, const char *file, const char *key_id,
                                   bool signing, char *why, size_t why_size);
void token_key_destroy(struct token_key *key);
const char *token_key_id(const struct token_key *key);
/** The same secret or the same public key. */
bool token_key_same(const struct token_key *a, const struct token_key *b);

struct entry_claims {
    struct text issuer, session, subject, place; /* iss, aud, sub, jti */
    uint64_t ticket;
    int64_t issued_s, expires_s;
};

/** Writes a terminated compact JWT. ERR_TOO_BIG, ERR_NOMEM, ERR_IO (the key refuses). */
MUST_CHECK enum err token_sign_entry(const struct token_key *key, const struct entry_claims *claims, char *dst, size_t size);
/** The exp (s) and iat (s) of an entry token that came from Redis, unverified. ERR_INVALID. */
MUST_CHECK enum err token_entry_times(struct text token, int64_t *issued_s, int64_t *expires_s);

/** A resume ticket. USER is "" where the place is the user. */
struct ticket {
    char session[SESSION_ID_MAX + 1], place[PLACE_ID_LEN + 1], user[USER_ID_MAX + 1];
    uint64_t epoch, number;
    uint32_t gen;
};

MUST_CHECK enum err token_sign_ticket(const struct token_key *key, const struct ticket *ticket, char *dst, size_t size);
/** ERR_DENIED: not ours, altered, or of another kind. */
MUST_CHECK enum err token_verify_ticket(const struct token_key *key, struct text token, struct ticket *ticket);

struct user_rules {
    const char *issuer;   /* "" = not asked */
    const char *audience; /* "" = not asked ("any") */
    const char *claim;    /* "sub" */
    int64_t leeway_s;
};

/** Verifies a user token: signature, algorithm, exp (required), nbf, iss, aud; USER gets the claim, ≤ USER_ID_MAX bytes
 *  without control characters. ERR_DENIED. */
MUST_CHECK enum err token_verify_user(const struct token_key *key, struct text token, const struct user_rules *rules,
                                      int64_t now_s, char user[USER_ID_MAX + 1]);

#endif

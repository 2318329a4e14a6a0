/** Tokens between the site and us: the entry token we issue, and the user token the site issues.
 *  A verifier pins the algorithm and checks every claim itself; no key or token is ever logged. */
#ifndef ANTEROOM_LINE_TOKEN_H
#define ANTEROOM_LINE_TOKEN_H

#include "common/line/jws.h"
#include "common/line/keyspace.h"
#include "common/line/ticket.h"

#include <stdbool.h>
#include <stdint.h>

struct entry_claims {
    struct text issuer, session, subject, place; /* iss, aud, sub, jti */
    uint64_t ticket;
    int64_t issued_s, expires_s;
};

/** Writes a terminated compact JWT. ERR_TOO_BIG, ERR_NOMEM, ERR_IO (the key refuses). */
MUST_CHECK enum err token_sign_entry(const struct token_key *key, const struct entry_claims *claims, char *dst,
                                     size_t size);
/** The exp (s) and iat (s) of an entry token that came from Redis, unverified, from 0 to
 * TOKEN_INSTANT_MAX_S. ERR_INVALID, ERR_NOMEM. */
MUST_CHECK enum err token_entry_times(struct text token, int64_t *issued_s, int64_t *expires_s);

#define TOKEN_LEEWAY_S 30                         /* what the clocks of signer and verifier may differ by */
#define TOKEN_INSTANT_MAX_S INT64_C(253402300799) /* the last second of the year 9999 */

struct entry_rules {
    const char *issuer;
    struct text session; /* {NULL, 0} = any */
};

/** What a valid entry token says. All alphabets were checked; USER has no control characters. */
struct entry {
    char session[SESSION_ID_MAX + 1], place[PLACE_ID_LEN + 1], user[USER_ID_MAX + 1];
    int64_t expires_s;
};

/** Verifies an entry token from its signature and claims alone: exp, iss, aud, sub and jti are required, iat and nbf
 * may not lie in the future; TOKEN_LEEWAY_S everywhere. ERR_DENIED; ERR_NOMEM: nobody knows what it is worth. */
MUST_CHECK enum err token_verify_entry(const struct keyring *ring, struct text token, const struct entry_rules *rules,
                                       int64_t now_s, struct entry *entry);

struct user_rules {
    const char *issuer;   /* "" = not asked */
    const char *audience; /* "" = not asked ("any") */
    const char *claim;    /* "sub" */
    int64_t leeway_s;
};

/** Verifies a user token: signature, algorithm, exp (required), nbf, iss, aud; USER gets the claim, ≤ USER_ID_MAX bytes
 *  without control characters. ERR_DENIED, ERR_NOMEM as above. */
MUST_CHECK enum err token_verify_user(const struct keyring *ring, struct text token, const struct user_rules *rules,
                                      int64_t now_s, char user[USER_ID_MAX + 1]);

#endif

/** The resume ticket: what a visitor shows to have the place back, through any gateway. An HS256 JWT of type
 *  anteroom-ticket+jwt (RFC 7515, RFC 7519), so that it never passes for an entry token. */
#ifndef ANTEROOM_LINE_TICKET_H
#define ANTEROOM_LINE_TICKET_H

#include "common/line/jws.h"
#include "common/line/keyspace.h"

#include <stdint.h>

#define USER_ID_MAX 128

/** USER is "" where the place is the user. NUMBER 0: the place is in the lobby, in ORDER there (0 in a lottery).
 * FIRST: the position it began with, for the progress; 0 = not told. */
struct ticket {
    char session[SESSION_ID_MAX + 1], place[PLACE_ID_LEN + 1], user[USER_ID_MAX + 1];
    uint64_t epoch, number, order;
    uint32_t gen, first;
};

MUST_CHECK enum err token_sign_ticket(const struct token_key *key, const struct ticket *ticket, char *dst, size_t size);
/** ERR_DENIED: not ours, altered, or of another kind. ERR_NOMEM: nobody knows what it is worth. */
MUST_CHECK enum err token_verify_ticket(const struct token_key *key, struct text token, struct ticket *ticket);

#endif

/** That others take what we sign. The only door to libjwt, a JWT library as sites use: it reads a token of our own
 * making, with the key's public half, and finds what was put in. */
#ifndef ANTEROOM_LINE_PROVE_H
#define ANTEROOM_LINE_PROVE_H

#include "common/line/key.h"

/** Signs a sample with KEY and has libjwt verify it. For a start only: libjwt 1.10 is no library to have when memory is
 * short. ERR_DENIED: it refuses the token. ERR_NOMEM, ERR_IO (the key cannot sign). */
MUST_CHECK enum err token_key_prove(const struct token_key *key);

#endif

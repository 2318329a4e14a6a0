/** The seed of a lottery: 64 hexadecimal digits from 32 random bytes, and the SHA-256 of those digits as text, which is
 *  public from the beginning and binds the operator to the seed (a commitment). */
#ifndef ANTEROOM_LINE_SEED_H
#define ANTEROOM_LINE_SEED_H

#include "common/base/err.h"

#define SEED_SIZE 65

/** Both terminated. ERR_NOMEM. */
MUST_CHECK enum err seed_draw(char seed[SEED_SIZE], char hash[SEED_SIZE]);

#endif

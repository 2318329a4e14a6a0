#include "common/line/seed.h"

#include "common/base/entropy.h"
#include "common/base/text.h"

#include <openssl/evp.h>

enum err seed_draw(char seed[SEED_SIZE], char hash[SEED_SIZE])
{
    unsigned char bytes[32];
    entropy_fill(bytes, sizeof bytes);
    hex_encode(seed, bytes, sizeof bytes);
    if (EVP_Digest(seed, SEED_SIZE - 1, bytes, NULL, EVP_sha256(), NULL) != 1)
        return ERR_NOMEM;
    hex_encode(hash, bytes, sizeof bytes);
    seed[SEED_SIZE - 1] = hash[SEED_SIZE - 1] = '\0';
    return OK;
}

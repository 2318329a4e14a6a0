#include "common/base/entropy.h"

#include "common/base/check.h"
#include "common/base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

void entropy_fill(void *bytes, size_t len)
{
    char *at = bytes;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        CHECK(got > 0);
        at += got;
        len -= (size_t)got;
    }
}

uint32_t entropy_below(uint32_t below)
{
    static uint32_t pool[64];
    static size_t left;
    CHECK(below > 0);
    if (left == 0) {
        entropy_fill(pool, sizeof pool);
        left = sizeof pool / sizeof pool[0];
    }
    return (uint32_t)((uint64_t)pool[--left] * below >> 32);
}

void entropy_uuid(char dst[ENTROPY_UUID_SIZE])
{
    uint8_t b[16];
    char hex[33] = "";
    entropy_fill(b, sizeof b);
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    hex_encode(hex, b, sizeof b);
    snprintf(dst, ENTROPY_UUID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

#include "common/http/request_id.h"

#include "common/base/entropy.h"

bool request_id_valid(struct text id)
{
    for (size_t i = 0; i < id.len; i++) {
        char c = id.at[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && (c == '\0' || !strchr("=;:._-", c)))
            return false;
    }
    return id.len > 0 && id.len <= REQUEST_ID_LEN_MAX;
}

void request_id_choose(char dst[REQUEST_ID_LEN_MAX + 1], struct text own, struct text trace)
{
    struct text given = request_id_valid(own) ? own : trace;
    if (request_id_valid(given)) {
        memcpy(dst, given.at, given.len);
        dst[given.len] = '\0';
        return;
    }
    uint8_t random[16];
    entropy_fill(random, sizeof random);
    hex_encode(dst, random, sizeof random);
    dst[2 * sizeof random] = '\0';
}

/** Which pages may talk to the line: our own, and those in ALLOW_ORIGINS. Pure. */
#ifndef ANTEROOM_GATEWAY_ORIGIN_H
#define ANTEROOM_GATEWAY_ORIGIN_H

#include "common/base/text.h"

enum origin_verdict {
    ORIGIN_SAME,    /* our own page, or no browser at all */
    ORIGIN_ALLOWED, /* in ALLOW_ORIGINS: CORS headers are due */
    ORIGIN_REFUSED,
    ORIGIN_NAVIGATE, /* somebody opened the API's address in a tab: send them to the waiting page */
};

struct origin_facts {
    struct text method, origin, site, mode, host; /* headers Origin, Sec-Fetch-Site, Sec-Fetch-Mode, Host */
    struct text public_url, allowed;              /* options */
};

enum origin_verdict origin_judge(const struct origin_facts *facts);

#endif

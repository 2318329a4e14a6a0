/** Where Redis is: redis://[user[:password]@]host[:port][/db], rediss://… (TLS), unix:///path[?db=N]. Pure. */
#ifndef ANTEROOM_REDIS_URL_H
#define ANTEROOM_REDIS_URL_H

#include "common/base/err.h"
#include "common/base/text.h"

#include <stdbool.h>

struct redis_url {
    bool tls;
    char path[108]; /* unix socket, or "" */
    char host[256]; /* name or address, IPv6 without brackets */
    char port[6];
    char user[128], password[256]; /* percent-decoded; "" = none */
    int db;
    char ca_file[512]; /* "" = the system's certificates; set by the caller, not part of the text */
};

/** ERR_INVALID with one clear sentence in WHY (static text, never containing the password). */
MUST_CHECK enum err redis_url_parse(struct redis_url *url, struct text text, const char **why);
/** "redis://user:***@host:6379/0" into DST: fit for logs. */
void redis_url_show(const struct redis_url *url, char *dst, size_t size);

#endif

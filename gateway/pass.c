#include "gateway/pass.h"

#include "common/base/clock.h"
#include "gateway/gateway.h"
#include "gateway/refusal.h"

#include <stdio.h>

static struct text cookie_token(const struct http_request *request, struct text session)
{
    char name[SESSION_ID_MAX + 20];
    if (!session.at)
        return (struct text){NULL, 0};
    snprintf(name, sizeof name, "anteroom_entry_%.*s", (int)session.len, session.at);
    return http_request_cookie(request, name);
}

enum err pass_read(const struct gateway *gateway, const struct http_request *request, struct text session,
                   struct entry *entry, const char **why)
{
    const struct entry_rules rules = {gateway->options.common.entry_issuer, session};
    const struct text shown[] = {
        http_request_bearer(request),
        cookie_token(request, session),
        http_request_header(request, "X-Entry-Token"),
    };
    *why = "No entry token was shown.";
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        if (!shown[i].len)
            continue;
        enum err err = token_verify_entry(&gateway->keys.entry, shown[i], &rules, clock_wall_ms() / 1000, entry);
        if (err != ERR_DENIED)
            return err;
        *why = "The entry token is forged, damaged, expired, or of another session.";
    }
    return ERR_DENIED;
}

void pass_refuse(struct gateway *gateway, struct http_request *request, enum err err, const char *why)
{
    if (err == ERR_NOMEM)
        refuse_by_status(gateway, request, REFUSAL_UNAVAILABLE, "There is no memory to look at the entry token.", 0);
    else
        refuse_by_status(gateway, request, REFUSAL_NO_ENTRY, why, 0);
}

/* Room for three characters a byte. */
static void write_user(const char *user, char dst[3 * USER_ID_MAX + 1])
{
    for (const char *p = user; *p; p++) {
        if (*p > ' ' && *p < 0x7f && !strchr("%\"'\\,;", *p)) {
            *dst++ = *p;
            continue;
        }
        *dst++ = '%';
        *dst++ = "0123456789ABCDEF"[(unsigned char)*p >> 4];
        *dst++ = "0123456789ABCDEF"[(unsigned char)*p & 15];
    }
    *dst = '\0';
}

void pass_headers(const struct entry *entry, char dst[PASS_HEADERS_SIZE])
{
    char user[3 * USER_ID_MAX + 1], expires[CLOCK_RFC3339_SIZE];
    write_user(entry->user, user);
    clock_rfc3339(expires, entry->expires_s * 1000);
    snprintf(dst, PASS_HEADERS_SIZE,
             "X-Anteroom-Session: %s\r\nX-Anteroom-User: %s\r\nX-Anteroom-Place: %s\r\nX-Anteroom-Expires: %s\r\n",
             entry->session, user, entry->place, expires);
}

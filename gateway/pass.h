/** The entry token a request of the site shows. */
#ifndef ANTEROOM_GATEWAY_PASS_H
#define ANTEROOM_GATEWAY_PASS_H

#include "common/http/request.h"
#include "common/line/token.h"

struct gateway;

/** The first valid of Authorization: Bearer, the cookie anteroom_entry_<session>, X-Entry-Token: the site may use any
 * of them for something of its own. SESSION {NULL, 0}: any, and then the cookie has no name. ERR_DENIED: *WHY is one
 * sentence; ERR_NOMEM: nobody knows what they are worth. */
MUST_CHECK enum err pass_read(const struct gateway *gateway, const struct http_request *request, struct text session,
                              struct entry *entry, const char **why);
/** The answer where pass_read gave ERR. */
void pass_refuse(struct gateway *gateway, struct http_request *request, enum err err, const char *why);
/** X-Anteroom-Session, -User, -Place and -Expires as header lines. The user is percent-encoded but for visible ASCII
 *  without %, quotes, backslash, comma and semicolon. */
#define PASS_HEADERS_SIZE 1024
void pass_headers(const struct entry *entry, char dst[PASS_HEADERS_SIZE]);

#endif

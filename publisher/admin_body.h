/** What a request for a change brings: its body and its preconditions. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_BODY_H
#define ANTEROOM_PUBLISHER_ADMIN_BODY_H

#include "common/base/text.h"

#include <jansson.h>
#include <stdbool.h>

struct http_request;

/** The body as a JSON object; a new reference. NULL: answered (415, 400). */
json_t *admin_body_object(struct http_request *request);

/** If-Match and If-None-Match as the configure script expects a version: "" any, "*", "absent" or digits. */
struct admin_condition {
    char expected[24];
    bool given;
};

/** Pure. False: malformed, or both at once. {NULL, 0} for an absent header. */
bool admin_condition_parse(struct text if_match, struct text if_none_match, struct admin_condition *condition);
/** False: answered with 400. */
bool admin_condition_read(struct http_request *request, struct admin_condition *condition);

/** Takes what a GET shows but nobody sets ("sessionId", "version", "live") out of BODY, so that what was read can be
 * sent back. NULL, or the field that does not belong to SESSION. */
const char *admin_body_strip(json_t *body, const char *session);

#endif

/** A session's configuration: one table of fields drives checking, defaults, the hash in Redis, JSON and the docs. */
#ifndef ANTEROOM_LINE_CONFIG_H
#define ANTEROOM_LINE_CONFIG_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/redis/reply.h"

#include <jansson.h>
#include <stdbool.h>

#define CONFIG_FIELDS_MAX 24
#define CONFIG_VALUE_MAX 1024

/** What is to be written: names (static) and values; "" deletes the field. */
struct config_change {
    size_t count;
    const char *names[CONFIG_FIELDS_MAX];
    char values[CONFIG_FIELDS_MAX][CONFIG_VALUE_MAX];
};

/** Checks a JSON object against the table. null takes a field back to its default. WHOLE: fields that are not named get
 *  their default too (PUT); else they stay (PATCH). Each bad or unknown field adds {"field","detail"} to ERRORS (an
 * array). ERR_INVALID when there was any; ERR_NOMEM. */
MUST_CHECK enum err config_check(const json_t *object, bool whole, struct config_change *change, json_t *errors);
/** PATCH, a JSON merge patch (RFC 7396), applied to the objects nested in CURRENT (a config_json): what config_check is
 * then given. Members that are no objects in both are as in PATCH. A new reference; NULL without memory. */
json_t *config_merge(const json_t *current, const json_t *patch);
/** The hash (HGETALL's array) as a JSON object with all fields, defaults filled in, typed; NULL without memory. The
 *  "version" is left out. A new reference. */
json_t *config_json(const struct redis_reply *hash);
/** A field's value in the hash, its default when absent, {NULL, 0} when it has none. */
struct text config_value(const struct redis_reply *hash, const char *field);
/** "version" of the hash, 0 when it is empty. */
int64_t config_version(const struct redis_reply *hash);

#endif

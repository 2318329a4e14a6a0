/** The adaptive cap: admissions follow the load the protected site reports. The cap on one interval's admissions falls
 *  linearly from maxCount at minTps to minCount at maxTps; without a value onMissing decides. admit.lua does the
 * arithmetic. */
#ifndef ANTEROOM_LINE_ADAPTIVE_H
#define ANTEROOM_LINE_ADAPTIVE_H

#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define LOAD_KEY_MAX 128
#define LOAD_KEY_DEFAULT "metrics:tps"
#define LOAD_MAX 1e9

/** Checks the object of the config field "adaptive" and writes it in its stored form (compact JSON with every member)
 * into DST. NULL, or the reason, which may be in REASON. */
const char *adaptive_check(const json_t *object, char *dst, size_t dst_size, char *reason, size_t reason_size);
/** 1 to LOAD_KEY_MAX visible ASCII characters without quotes and backslashes. */
bool load_key_valid(const char *key);
/** A load: a number from 0 to LOAD_MAX. */
bool load_valid(double tps);

#endif

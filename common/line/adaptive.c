#include "common/line/adaptive.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT_MAX 1000000

static const char *const members[] = {"minTps", "maxTps", "minCount", "maxCount", "onMissing", "loadKey"};

bool load_key_valid(const char *key)
{
    size_t len = strlen(key);
    for (const char *p = key; *p; p++)
        if (*p <= ' ' || *p > '~' || *p == '"' || *p == '\\')
            return false;
    return len > 0 && len <= LOAD_KEY_MAX;
}

bool load_valid(double tps)
{
    return isfinite(tps) && tps >= 0 && tps <= LOAD_MAX;
}

static const char *unknown_member(const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        bool known = false;
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            known = known || strcmp(name, members[i]) == 0;
        if (!known)
            return name;
    }
    return NULL;
}

static bool text_member(const json_t *object, const char *name, const char *fallback, const char **out)
{
    const json_t *value = json_object_get(object, name);
    *out = value ? json_string_value(value) : fallback;
    return *out && (!value || strlen(*out) == json_string_length(value));
}

static bool count_member(const json_t *object, const char *name, json_int_t *out)
{
    const json_t *value = json_object_get(object, name);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0 && *out <= COUNT_MAX;
}

const char *adaptive_check(const json_t *object, char *dst, size_t dst_size, char *reason, size_t reason_size)
{
    const json_t *from = json_object_get(object, "minTps"), *to = json_object_get(object, "maxTps");
    const char *missing, *key, *foreign;
    json_int_t least, most;
    if (!json_is_object(object))
        return "must be an object {minTps, maxTps, minCount, maxCount, onMissing, loadKey}, or null";
    if ((foreign = unknown_member(object)) != NULL) {
        snprintf(reason, reason_size, "%.40s is not a member of adaptive", foreign);
        return reason;
    }
    if (!json_is_number(from) || !json_is_number(to) || !load_valid(json_number_value(from)) ||
        !load_valid(json_number_value(to)) || json_number_value(from) >= json_number_value(to))
        return "minTps and maxTps must be numbers from 0 to 1e9, minTps below maxTps";
    if (!count_member(object, "minCount", &least) || !count_member(object, "maxCount", &most) || least > most)
        return "minCount and maxCount must be whole numbers from 0 to 1000000, minCount not above maxCount";
    if (!text_member(object, "onMissing", "hold", &missing) ||
        (strcmp(missing, "hold") != 0 && strcmp(missing, "floor") != 0 && strcmp(missing, "ignore") != 0))
        return "onMissing must be one of: hold floor ignore";
    if (!text_member(object, "loadKey", LOAD_KEY_DEFAULT, &key) || !load_key_valid(key))
        return "loadKey must be 1 to 128 visible ASCII characters without quotes or backslashes";
    int len = snprintf(dst, dst_size,
                       "{\"minTps\":%.15g,\"maxTps\":%.15g,\"minCount\":%lld,\"maxCount\":%lld,\"onMissing\":\"%s\","
                       "\"loadKey\":\"%s\"}",
                       json_number_value(from), json_number_value(to), (long long)least, (long long)most, missing, key);
    return len > 0 && (size_t)len < dst_size ? NULL : "is too long";
}

#include "common/line/config.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/line/adaptive.h"
#include "common/line/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum kind { KIND_INT, KIND_BOOL, KIND_WORD, KIND_TIME, KIND_URL, KIND_ADAPTIVE };

static const struct field {
    const char *name;
    enum kind kind;
    int64_t min, max;
    const char *fallback; /* "" = none: null in JSON */
    const char *words;    /* KIND_WORD: allowed values, separated by blanks */
} fields[] = {
    {"batch", KIND_INT, 1, 1000000, "10", NULL},
    {"intervalMs", KIND_INT, 50, 86400000, "5000", NULL},
    {"maxWaiting", KIND_INT, 0, 100000000, "0", NULL},
    {"activeLimit", KIND_INT, 0, 100000000, "0", NULL},
    {"stock", KIND_INT, -1, 1000000000, "-1", NULL},
    {"startsAt", KIND_TIME, 0, 0, "", NULL},
    {"endsAt", KIND_TIME, 0, 0, "", NULL},
    {"lobby", KIND_WORD, 0, 0, "", "none arrival lottery"}, /* default: arrival where startsAt is set */
    {"status", KIND_WORD, 0, 0, "open", "open paused closed"},
    {"perUser", KIND_WORD, 0, 0, "newest", "many newest refuse"},
    {"rejoin", KIND_WORD, 0, 0, "keep", "keep back refuse"},
    {"graceMs", KIND_INT, 0, 86400000, "300000", NULL},
    {"tokenTtlSeconds", KIND_INT, 5, 604800, "600", NULL},
    {"adaptive", KIND_ADAPTIVE, 0, 0, "", NULL},
    {"entryUrl", KIND_URL, 0, 0, "", NULL},
    {"entryMethod", KIND_WORD, 0, 0, "fragment", "fragment post"},
    {"virtual", KIND_BOOL, 0, 0, "false", NULL},
    {"admissionsDays", KIND_INT, 1, 3650, "30", NULL},
};
#define FIELD_COUNT (sizeof fields / sizeof fields[0])
_Static_assert(FIELD_COUNT <= CONFIG_FIELDS_MAX, "config_change holds every field");

static const struct field *field_find(const char *name)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static void complain(size_t *wrong, json_t *errors, const char *field, const char *detail)
{
    (*wrong)++;
    json_array_append_new(errors, json_pack("{s:s, s:s}", "field", field, "detail", detail));
}

static bool word_allowed(const char *words, struct text value)
{
    struct text rest = text_of(words), word;
    while (text_next(&rest, ' ', &word))
        if (text_equal(word, value))
            return true;
    return false;
}

/* "2026-11-20T12:00:00[.123]Z" to Unix ms. */
static bool parse_rfc3339(const char *text, int64_t *unix_ms)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int64_t ms = 0, scale = 100;
    if (!rest)
        return false;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10)
            ms += (*rest - '0') * scale;
    if (strcmp(rest, "Z") != 0)
        return false;
    *unix_ms = (int64_t)timegm(&tm) * 1000 + ms;
    return *unix_ms > 0;
}

static const char *check_url(const char *url, char *dst)
{
    const char *https = "https://", *loopback[] = {"http://localhost", "http://127.0.0.1", "http://[::1]"};
    bool allowed = strncmp(url, https, strlen(https)) == 0 && url[strlen(https)] > ' ';
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(loopback[i]);
        allowed = allowed || (strncmp(url, loopback[i], len) == 0 && strchr(":/?", url[len]));
    }
    for (const char *p = url; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("\"<>\\^`{|}#", *p))
            return "must be a URL without blanks, quotes or a fragment";
    if (!allowed)
        return "must be an absolute https URL (http only to loopback)";
    return text_copy(dst, CONFIG_VALUE_MAX, text_of(url)) == OK ? NULL : "is too long (1,023 bytes at most)";
}

/* NULL and DST filled, or the reason. */
static const char *check_value(const struct field *field, const json_t *value, char *dst, char *reason, size_t size)
{
    int64_t number;
    switch (field->kind) {
    case KIND_INT:
        snprintf(reason, size, "must be a whole number from %" PRId64 " to %" PRId64, field->min, field->max);
        if (!json_is_integer(value) || json_integer_value(value) < field->min || json_integer_value(value) > field->max)
            return reason;
        snprintf(dst, CONFIG_VALUE_MAX, "%" PRId64, (int64_t)json_integer_value(value));
        return NULL;
    case KIND_BOOL:
        if (!json_is_boolean(value))
            return "must be true or false";
        snprintf(dst, CONFIG_VALUE_MAX, "%s", json_is_true(value) ? "true" : "false");
        return NULL;
    case KIND_WORD:
        snprintf(reason, size, "must be one of: %s", field->words);
        if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value) ||
            !word_allowed(field->words, text_of(json_string_value(value))))
            return reason;
        snprintf(dst, CONFIG_VALUE_MAX, "%s", json_string_value(value));
        return NULL;
    case KIND_TIME:
        if (json_is_integer(value) && json_integer_value(value) > 0)
            number = json_integer_value(value);
        else if (!json_is_string(value) || !parse_rfc3339(json_string_value(value), &number))
            return "must be an RFC 3339 UTC time such as 2026-11-20T12:00:00Z, or Unix milliseconds";
        snprintf(dst, CONFIG_VALUE_MAX, "%" PRId64, number);
        return NULL;
    case KIND_URL:
        if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
            return "must be a URL";
        return check_url(json_string_value(value), dst);
    case KIND_ADAPTIVE:
        return adaptive_check(value, dst, CONFIG_VALUE_MAX, reason, size);
    }
    return "is of an unknown kind";
}

enum err config_check(const json_t *object, bool whole, struct config_change *change, json_t *errors)
{
    const char *name;
    json_t *value;
    char reason[160];
    size_t bad = 0, refused = memory_refused();
    *change = (struct config_change){.count = 0};
    json_object_foreach((json_t *)(uintptr_t)object, name, value) if (!field_find(name))
        complain(&bad, errors, name, "is not a field of a session");
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        value = json_object_get(object, fields[i].name);
        if (!value && !whole)
            continue;
        char *dst = change->values[change->count];
        change->names[change->count++] = fields[i].name;
        if (!value || json_is_null(value)) {
            CHECK(text_copy(dst, CONFIG_VALUE_MAX, text_of(fields[i].fallback)) == OK);
            continue;
        }
        const char *wrong = check_value(&fields[i], value, dst, reason, sizeof reason);
        if (wrong)
            complain(&bad, errors, fields[i].name, wrong);
    }
    if (memory_refused() != refused)
        return ERR_NOMEM; /* ERRORS may lack some */
    return bad ? ERR_INVALID : OK;
}

struct text config_value(const struct redis_reply *hash, const char *field)
{
    for (size_t i = 0; i + 1 < reply_len(hash); i += 2)
        if (text_is(reply_text(reply_at(hash, i)), field))
            return reply_text(reply_at(hash, i + 1));
    if (strcmp(field, "lobby") == 0) /* the one default that another field decides */
        return config_value(hash, "startsAt").at ? TEXT("arrival") : TEXT("none");
    const struct field *known = field_find(field);
    return known && known->fallback[0] ? text_of(known->fallback) : (struct text){NULL, 0};
}

int64_t config_version(const struct redis_reply *hash)
{
    int64_t version = 0;
    return text_int(config_value(hash, "version"), 0, INT64_MAX, &version) == OK ? version : 0;
}

/* Bytes that are no UTF-8 are made safe: what somebody else wrote must not hide the other fields. NULL without memory.
 */
static json_t *text_json(struct text value)
{
    struct buf quoted;
    json_t *string = json_stringn(value.at, value.len);
    if (string)
        return string;
    buf_init(&quoted, 8 * CONFIG_VALUE_MAX);
    if (value.len > CONFIG_VALUE_MAX)
        value.len = CONFIG_VALUE_MAX;
    if (buf_text(&quoted, TEXT("\"")) == OK && buf_json(&quoted, value) == OK && buf_text(&quoted, TEXT("\"")) == OK)
        string = json_loadb(quoted.data, quoted.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    buf_finish(&quoted);
    return string;
}

/* null for what is no JSON. */
static json_t *object_json(struct text value)
{
    json_t *object = json_loadb(value.at, value.len, 0, NULL);
    return object ? object : json_null();
}

static json_t *value_json(const struct field *field, struct text value)
{
    int64_t number = 0;
    char instant[CLOCK_RFC3339_SIZE];
    if (!value.at)
        return json_null();
    switch (field->kind) {
    case KIND_INT:
        return text_int(value, INT64_MIN, INT64_MAX, &number) == OK ? json_integer(number) : json_null();
    case KIND_BOOL:
        return json_boolean(text_is(value, "true"));
    case KIND_TIME:
        if (text_int(value, 0, INT64_MAX, &number) != OK)
            return json_null();
        clock_rfc3339(instant, number);
        return json_string(instant);
    case KIND_WORD:
    case KIND_URL:
        return text_json(value);
    case KIND_ADAPTIVE:
        return object_json(value);
    }
    return json_null();
}

json_t *config_json(const struct redis_reply *hash)
{
    size_t refused = memory_refused();
    json_t *object = json_object();
    for (size_t i = 0; i < FIELD_COUNT; i++)
        json_object_set_new(object, fields[i].name, value_json(&fields[i], config_value(hash, fields[i].name)));
    if (memory_refused() == refused)
        return object;
    json_decref(object); /* a setting must not look unset because of a moment */
    return NULL;
}

/* json_copy leaves out what it has no memory for. NULL without memory. */
static json_t *object_copy(const json_t *object)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)object);
    if (json_object_size(copy) == json_object_size(object))
        return copy;
    json_decref(copy);
    return NULL;
}

/* PATCH's members into a copy of BEFORE, which null takes a member away from. A new reference; NULL without memory. */
static json_t *object_merge(const json_t *before, json_t *patch)
{
    json_t *merged = object_copy(before), *value;
    const char *name;
    if (!merged)
        return NULL;
    json_object_foreach(patch, name, value)
    {
        if (json_is_null(value)) {
            json_object_del(merged, name);
        } else if (json_object_set(merged, name, value) != 0) {
            json_decref(merged);
            return NULL;
        }
    }
    return merged;
}

json_t *config_merge(const json_t *current, const json_t *patch)
{
    json_t *merged = object_copy(patch), *value;
    const char *name;
    if (!merged)
        return NULL;
    json_object_foreach((json_t *)(uintptr_t)patch, name, value)
    {
        json_t *before = json_object_get(current, name);
        if (json_is_object(value) && json_is_object(before) &&
            json_object_set_new(merged, name, object_merge(before, value)) != 0) {
            json_decref(merged); /* half a merge would take away what was not named */
            return NULL;
        }
    }
    return merged;
}

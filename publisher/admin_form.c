#include "publisher/admin_form.h"

#include "common/line/adaptive.h"
#include "common/line/message.h"
#include "publisher/admin_answer.h"
#include "publisher/crowd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void only(const json_t *body, const char *const *names, const char *detail, json_t *errors)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)body, name, value)
    {
        const char *const *known = names;
        while (*known && strcmp(*known, name) != 0)
            known++;
        if (!*known)
            admin_complain(errors, name, detail);
    }
}

static uint32_t number_read(const json_t *body, const char *name, int64_t max, json_t *errors)
{
    const json_t *value = json_object_get(body, name);
    int64_t number = json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
    char detail[80];
    if (number >= 1 && number <= max)
        return (uint32_t)number;
    snprintf(detail, sizeof detail, "must be a whole number from 1 to %" PRId64, max);
    admin_complain(errors, name, detail);
    return 0;
}

void crowd_form_read(const json_t *body, struct crowd_form *form, json_t *errors)
{
    static const char *const names[] = {"count", "perSecond", NULL};
    only(body, names, "is not a field of a crowd", errors);
    form->count = number_read(body, "count", CROWD_COUNT_MAX, errors);
    form->per_second = number_read(body, "perSecond", CROWD_PER_SECOND_MAX, errors);
}

void load_form_read(const json_t *body, struct load_form *form, json_t *errors)
{
    static const char *const names[] = {"tps", "ttlSeconds", "key", NULL};
    const json_t *tps = json_object_get(body, "tps"), *ttl = json_object_get(body, "ttlSeconds"),
                 *key = json_object_get(body, "key");
    only(body, names, "is not a field of a load", errors);
    form->tps = json_number_value(tps);
    form->ttl_s = json_integer_value(ttl);
    form->key = key ? json_string_value(key) : LOAD_KEY_DEFAULT;
    if (!json_is_number(tps) || !load_valid(form->tps))
        admin_complain(errors, "tps", "must be a number from 0 to 1e9");
    if (!json_is_integer(ttl) || form->ttl_s < 1 || form->ttl_s > LOAD_TTL_MAX_S)
        admin_complain(errors, "ttlSeconds", "must be a whole number from 1 to 3600");
    if (!form->key || (key && strlen(form->key) != json_string_length(key)) || !load_key_valid(form->key))
        admin_complain(errors, "key", "must be a session's loadKey");
}

const char *notice_form_read(const json_t *body, char *dst, size_t size)
{
    const json_t *message = json_object_get(body, "message");
    const char *text = json_string_value(message);
    if (!text || json_object_size(body) != 1)
        return "the body is {\"message\": \"…\"}, \"\" takes the notice back";
    if (strlen(text) != json_string_length(message) || strlen(text) > NOTICE_MAX)
        return "a notice has 1,000 bytes at most";
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return "a notice is one line, without control characters";
    return text_copy(dst, size, text_of(text)) == OK ? NULL : "is too long";
}

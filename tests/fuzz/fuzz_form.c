/* Bodies of the admin API but for a session's own (config): crowds, loads, notices and merge patches. What is taken is
 * within its limits and, written again, is taken again to the same; what is not taken names a field of the body or a
 * missing one. A patch leaves alone what it does not name, sets what it names, and applied twice is applied once. */
#include "tests/fuzz/fuzz.h"

#include "common/line/adaptive.h"
#include "common/line/config.h"
#include "common/line/message.h"
#include "publisher/admin_form.h"
#include "publisher/crowd.h"

#include <stdlib.h>

/* Each complaint is about a member, or about one of NAMES that is not there. */
static void complaints_hold(const json_t *body, const json_t *errors, const char *const *names)
{
    for (size_t i = 0; i < json_array_size(errors); i++) {
        const char *field = json_string_value(json_object_get(json_array_get(errors, i), "field"));
        bool needed = false;
        for (const char *const *name = names; *name && !needed; name++)
            needed = strcmp(*name, field) == 0;
        CHECK(needed || json_object_get(body, field));
    }
}

static void crowd(const json_t *body)
{
    static const char *const names[] = {"count", "perSecond", NULL};
    struct crowd_form form, again;
    json_t *errors = json_array();
    crowd_form_read(body, &form, errors);
    complaints_hold(body, errors, names);
    if (json_array_size(errors) == 0) {
        json_t *same =
            json_pack("{s:I, s:I}", "count", (json_int_t)form.count, "perSecond", (json_int_t)form.per_second);
        CHECK(form.count >= 1 && form.count <= CROWD_COUNT_MAX && form.per_second >= 1);
        CHECK(form.per_second <= CROWD_PER_SECOND_MAX && json_equal(same, (json_t *)(uintptr_t)body));
        crowd_form_read(same, &again, errors);
        CHECK(json_array_size(errors) == 0 && again.count == form.count && again.per_second == form.per_second);
        json_decref(same);
    }
    json_decref(errors);
}

static void load(const json_t *body)
{
    static const char *const names[] = {"tps", "ttlSeconds", "key", NULL};
    struct load_form form;
    json_t *errors = json_array();
    load_form_read(body, &form, errors);
    complaints_hold(body, errors, names);
    if (json_array_size(errors) == 0) {
        CHECK(load_valid(form.tps) && form.ttl_s >= 1 && form.ttl_s <= LOAD_TTL_MAX_S && load_key_valid(form.key));
        CHECK(json_object_size(body) == 2 + (size_t)(json_object_get(body, "key") != NULL));
    }
    json_decref(errors);
}

static void notice(const json_t *body)
{
    char text[NOTICE_MAX + 1], again[NOTICE_MAX + 1];
    const char *wrong = notice_form_read(body, text, sizeof text);
    if (wrong)
        return;
    CHECK(json_object_size(body) == 1 && strlen(text) <= NOTICE_MAX && strcspn(text, "\r\n\t\x7f") == strlen(text));
    json_t *same = json_pack("{s:s}", "message", text);
    CHECK(json_equal(same, (json_t *)(uintptr_t)body));
    CHECK(!notice_form_read(same, again, sizeof again) && strcmp(text, again) == 0);
    json_decref(same);
}

/* What CURRENT's member is after the PATCH. */
static void member_holds(const json_t *was, const json_t *patch, const json_t *is)
{
    const char *name;
    json_t *value;
    if (!json_is_object(was) || !json_is_object(patch)) {
        CHECK(json_equal((json_t *)(uintptr_t)patch, (json_t *)(uintptr_t)is));
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)was, name, value) if (!json_object_get(patch, name))
        CHECK(json_equal(value, json_object_get(is, name)));
    json_object_foreach((json_t *)(uintptr_t)patch, name, value)
    {
        json_t *now = json_object_get(is, name);
        CHECK(json_is_null(value) ? !now : json_equal(value, now));
    }
}

static void patch(const json_t *current, const json_t *body)
{
    json_t *once = config_merge(current, body);
    const char *name;
    json_t *value;
    CHECK(once && json_object_size(once) == json_object_size(body));
    json_object_foreach((json_t *)(uintptr_t)body, name, value)
        member_holds(json_object_get(current, name), value, json_object_get(once, name));
    json_t *changed = json_deep_copy(current);
    json_object_update(changed, once);
    json_t *twice = config_merge(changed, body);
    json_object_foreach((json_t *)(uintptr_t)body, name,
                        value) if (json_is_object(json_object_get(current, name)) || !json_is_object(value))
        CHECK(json_equal(json_object_get(once, name), json_object_get(twice, name)));
    json_decref(changed);
    json_decref(twice);
    json_decref(once);
}

/* One body a line; the last is a patch of the one before it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text rest = {(const char *)data, size}, line;
    json_t *before = json_object();
    for (int i = 0; i < 8 && text_next(&rest, '\n', &line); i++) {
        json_t *body = json_loadb(line.at ? line.at : "", line.len, JSON_REJECT_DUPLICATES, NULL);
        if (json_is_object(body)) {
            crowd(body);
            load(body);
            notice(body);
            patch(before, body);
            json_decref(before);
            before = json_incref(body);
        }
        json_decref(body);
    }
    json_decref(before);
    return 0;
}

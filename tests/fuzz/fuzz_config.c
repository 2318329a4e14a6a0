/* What operators send: JSON bodies and preconditions. What config_check takes is shown by config_json in a form that it
 * takes again, to the same values; a merge of what is shown is JSON, and checking it never crashes. */
#include "tests/fuzz/fuzz.h"

#include "common/line/adaptive.h"
#include "common/line/config.h"
#include "publisher/admin_body.h"
#include "tests/support/redis_words.h"

#include <stdlib.h>

static struct redis_reply *hash_of(const struct config_change *change)
{
    const char *words[2 * CONFIG_FIELDS_MAX + 1] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < change->count; i++) {
        if (!change->values[i][0])
            continue;
        words[count++] = change->names[i];
        words[count++] = change->values[i];
    }
    return reply_words(words);
}

static json_t *shown(const struct redis_reply *hash)
{
    json_t *json = config_json(hash);
    char *text = json_dumps(json, 0);
    CHECK(text && is_json(text_of(text)));
    free(text);
    return json;
}

static void round_trip(const struct config_change *change)
{
    static struct config_change again;
    json_t *errors = json_array();
    struct redis_reply *hash = hash_of(change), *hash_again;
    json_t *json = shown(hash);
    CHECK(config_check(json, true, &again, errors) == OK);
    hash_again = hash_of(&again);
    json_t *json_again = shown(hash_again);
    CHECK(json_equal(json, json_again));
    json_decref(json_again);
    json_decref(json);
    json_decref(errors);
    reply_words_free(hash);
    reply_words_free(hash_again);
}

static void body(json_t *object)
{
    static struct config_change change;
    const char *const names[] = {"batch", "7", "adaptive", "{\"minTps\":1,\"maxTps\":2}", NULL};
    json_t *errors = json_array();
    bool good = config_check(object, true, &change, errors) == OK;
    CHECK(good == (json_array_size(errors) == 0));
    if (good)
        round_trip(&change);
    json_array_clear(errors);
    good = config_check(object, false, &change, errors) == OK;
    CHECK(good == (json_array_size(errors) == 0));
    struct redis_reply *hash = reply_words(names);
    json_t *current = shown(hash), *merged = config_merge(current, object);
    CHECK(merged);
    json_array_clear(errors);
    (void)!config_check(merged, false, &change, errors);
    const char *wrong = admin_body_strip(merged, "s");
    CHECK(wrong || !json_object_get(merged, "version"));
    json_decref(merged);
    json_decref(current);
    json_decref(errors);
    reply_words_free(hash);
}

static void condition(struct text in)
{
    struct admin_condition condition;
    struct text rest = in, match = {NULL, 0}, none = {NULL, 0};
    text_next(&rest, '\n', &match);
    text_next(&rest, '\n', &none);
    if (admin_condition_parse(match, none, &condition))
        CHECK(strlen(condition.expected) < sizeof condition.expected && !(match.at && none.at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text in = {(const char *)data, size};
    json_t *object = json_loadb(in.at ? in.at : "", in.len, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(object))
        body(object);
    json_decref(object);
    condition(in);
    return 0;
}

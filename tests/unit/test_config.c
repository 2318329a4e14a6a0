#include "common/line/config.h"
#include "tests/support/redis_words.h"
#include "tests/support/unit.h"

static const char *value_of(const struct config_change *change, const char *name)
{
    for (size_t i = 0; i < change->count; i++)
        if (strcmp(change->names[i], name) == 0)
            return change->values[i];
    return NULL;
}

static enum err check(const char *text, bool whole, struct config_change *change, size_t *errors)
{
    json_t *object = json_loads(text, 0, NULL), *list = json_array();
    assert_non_null(object);
    enum err err = config_check(object, whole, change, list);
    *errors = json_array_size(list);
    json_decref(object);
    json_decref(list);
    return err;
}

static void a_patch_names_its_fields_and_a_whole_session_all(void **state)
{
    (void)state;
    static struct config_change change;
    size_t errors;
    assert_int_equal(check("{\"batch\":5,\"stock\":null}", false, &change, &errors), OK);
    assert_int_equal(change.count, 2);
    assert_string_equal(value_of(&change, "batch"), "5");
    assert_string_equal(value_of(&change, "stock"), "-1");
    assert_int_equal(check("{\"entryUrl\":\"https://shop.example/enter?a=1\",\"startsAt\":\"2026-11-20T12:00:00.5Z\"}",
                           true, &change, &errors),
                     OK);
    assert_string_equal(value_of(&change, "batch"), "10");
    assert_string_equal(value_of(&change, "startsAt"), "1795176000500");
    assert_string_equal(value_of(&change, "endsAt"), "");
}

static void every_bad_field_is_named_at_once(void **state)
{
    (void)state;
    static struct config_change change;
    static const struct {
        const char *text;
        size_t errors;
    } rows[] = {
        {"{\"batch\":0}", 1},
        {"{\"batch\":1000001}", 1},
        {"{\"batch\":\"5\"}", 1},
        {"{\"batch\":1.5}", 1},
        {"{\"batch\":true}", 1},
        {"{\"intervalMs\":49,\"graceMs\":-1,\"nonsense\":1}", 3},
        {"{\"status\":\"ajar\"}", 1},
        {"{\"virtual\":\"true\"}", 1},
        {"{\"entryUrl\":\"http://shop.example/\"}", 1},
        {"{\"entryUrl\":\"javascript:alert(1)\"}", 1},
        {"{\"entryUrl\":\"https://a/#b\"}", 1},
        {"{\"entryUrl\":\"https://a/\\\"b\"}", 1},
        {"{\"entryUrl\":\"https://\"}", 1},
        {"{\"entryUrl\":\"http://localhost:3000/in\"}", 0},
        {"{\"entryUrl\":\"http://localhost.evil.example/\"}", 1},
        {"{\"startsAt\":\"2026-11-20\"}", 1},
        {"{\"startsAt\":\"2026-11-20T12:00:00+09:00\"}", 1},
        {"{\"startsAt\":-1}", 1},
        {"{\"stock\":0,\"perUser\":\"many\",\"rejoin\":\"back\"}", 0},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        size_t errors;
        enum err err = check(rows[i].text, false, &change, &errors);
        assert_int_equal(errors, rows[i].errors);
        assert_int_equal(err, rows[i].errors ? ERR_INVALID : OK);
    }
}

static void the_hash_reads_back_with_defaults_and_types(void **state)
{
    (void)state;
    const char *words[] = {"batch", "7", "version", "3", "startsAt", "1795176000500", "virtual", "true", NULL};
    struct redis_reply *hash = reply_words(words);
    json_t *json = config_json(hash);
    assert_int_equal(json_integer_value(json_object_get(json, "batch")), 7);
    assert_int_equal(json_integer_value(json_object_get(json, "intervalMs")), 5000);
    assert_string_equal(json_string_value(json_object_get(json, "startsAt")), "2026-11-20T12:00:00.500Z");
    assert_true(json_is_null(json_object_get(json, "endsAt")));
    assert_true(json_is_true(json_object_get(json, "virtual")));
    assert_null(json_object_get(json, "version"));
    assert_int_equal(config_version(hash), 3);
    assert_true(text_is(config_value(hash, "graceMs"), "300000"));
    json_decref(json);
    reply_words_free(hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_patch_names_its_fields_and_a_whole_session_all),
        cmocka_unit_test(every_bad_field_is_named_at_once),
        cmocka_unit_test(the_hash_reads_back_with_defaults_and_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

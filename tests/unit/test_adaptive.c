#include "common/line/adaptive.h"
#include "common/line/seed.h"
#include "tests/support/unit.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

static const char *check(const char *text, char dst[256])
{
    static char reason[160];
    json_t *object = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(object);
    const char *wrong = adaptive_check(object, dst, 256, reason, sizeof reason);
    json_decref(object);
    return wrong;
}

static void a_good_one_is_stored_whole_with_its_defaults(void **state)
{
    (void)state;
    char stored[256];
    assert_null(check("{\"minTps\":0.5,\"maxTps\":80,\"minCount\":0,\"maxCount\":5}", stored));
    assert_string_equal(stored, "{\"minTps\":0.5,\"maxTps\":80,\"minCount\":0,\"maxCount\":5,\"onMissing\":\"hold\","
                                "\"loadKey\":\"metrics:tps\"}");
    assert_null(check("{\"minTps\":0,\"maxTps\":1e9,\"minCount\":1000000,\"maxCount\":1000000,\"onMissing\":\"floor\","
                      "\"loadKey\":\"a:b\"}",
                      stored));
    assert_null(check(stored, stored)); /* what was stored may be sent back */
}

static void the_bad_ones_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{}",
        "[]",
        "7",
        "{\"minTps\":10,\"maxTps\":10,\"minCount\":0,\"maxCount\":5}",
        "{\"minTps\":11,\"maxTps\":10,\"minCount\":0,\"maxCount\":5}",
        "{\"minTps\":-1,\"maxTps\":10,\"minCount\":0,\"maxCount\":5}",
        "{\"minTps\":0,\"maxTps\":1.1e9,\"minCount\":0,\"maxCount\":5}",
        "{\"minTps\":\"0\",\"maxTps\":10,\"minCount\":0,\"maxCount\":5}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":6,\"maxCount\":5}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":-1,\"maxCount\":5}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":0.5,\"maxCount\":5}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":0,\"maxCount\":1000001}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":0,\"maxCount\":5,\"onMissing\":\"guess\"}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":0,\"maxCount\":5,\"onMissing\":null}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":0,\"maxCount\":5,\"loadKey\":\"\"}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":0,\"maxCount\":5,\"loadKey\":\"a b\"}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":0,\"maxCount\":5,\"loadKey\":\"a\\\"b\"}",
        "{\"minTps\":0,\"maxTps\":10,\"minCount\":0,\"maxCount\":5,\"more\":1}",
    };
    char stored[256];
    for (size_t i = 0; i < ROWS(rows); i++)
        assert_non_null(check(rows[i], stored));
    char key[LOAD_KEY_MAX + 2];
    memset(key, 'k', sizeof key);
    key[LOAD_KEY_MAX + 1] = '\0';
    assert_false(load_key_valid(key));
    key[LOAD_KEY_MAX] = '\0';
    assert_true(load_key_valid(key));
}

static void a_seed_and_its_hash_belong_together(void **state)
{
    (void)state;
    char seed[SEED_SIZE], hash[SEED_SIZE], other[SEED_SIZE], again[SEED_SIZE];
    unsigned char digest[32];
    assert_int_equal(seed_draw(seed, hash), OK);
    assert_int_equal(seed_draw(other, again), OK);
    assert_string_not_equal(seed, other);
    assert_true(strlen(seed) == 64 && strspn(seed, "0123456789abcdef") == 64);
    assert_int_equal(EVP_Digest(seed, 64, digest, NULL, EVP_sha256(), NULL), 1);
    for (size_t i = 0; i < sizeof digest; i++) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02x", digest[i]);
        assert_memory_equal(hex, hash + 2 * i, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_one_is_stored_whole_with_its_defaults),
        cmocka_unit_test(the_bad_ones_are_refused_with_a_reason),
        cmocka_unit_test(a_seed_and_its_hash_belong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

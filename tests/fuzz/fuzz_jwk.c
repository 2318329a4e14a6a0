/* A site's keys. What is read is written as JSON that is read as the same key; no key signs for another algorithm. */
#include "tests/fuzz/fuzz.h"

#include "common/line/jwk.h"

#include <jansson.h>

static void one(const json_t *jwk, enum token_alg alg)
{
    const char *reason = NULL;
    struct token_key *key = NULL, *again = NULL;
    struct buf out;
    enum err err = jwk_read(&key, alg, jwk, &reason);
    CHECK(err == OK || err == ERR_MISSING || (reason && (err == ERR_INVALID || err == ERR_RANGE)));
    if (err != OK)
        return;
    CHECK(key->alg == alg && strlen(token_key_id(key)) > 0);
    buf_init(&out, 1 << 20);
    if (alg != TOKEN_HS256) {
        CHECK(jwk_write(&out, key) == OK);
        json_t *json = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
        CHECK(json && jwk_read(&again, alg, json, &reason) == OK && token_key_same(key, again));
        CHECK(!key->named || strcmp(token_key_id(key), token_key_id(again)) == 0);
        json_decref(json);
        token_key_destroy(again);
    }
    buf_finish(&out);
    token_key_destroy(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = json_loadb(size ? (const char *)data : "", size, JSON_REJECT_DUPLICATES, NULL), *keys, *jwk;
    size_t i;
    for (int alg = TOKEN_HS256; json && alg <= TOKEN_RS256; alg++) {
        one(json, (enum token_alg)alg);
        keys = json_object_get(json, "keys");
        json_array_foreach(keys, i, jwk) one(jwk, (enum token_alg)alg);
    }
    json_decref(json);
    return 0;
}

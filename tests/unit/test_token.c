#include "common/line/token.h"
#include "tests/support/unit.h"

#include <jwt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *write_temporary(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/anteroom-key.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return path;
}

static enum err load(struct token_key **key, enum token_alg alg, const char *text, bool signing)
{
    char why[256];
    const char *path = write_temporary(text);
    enum err err = token_key_load(key, alg, path, NULL, signing, why, sizeof why);
    unlink(path);
    return err;
}

static void secrets_need_thirty_two_bytes_and_lose_one_newline(void **state)
{
    (void)state;
    struct token_key *key, *same;
    assert_int_equal(load(&key, TOKEN_HS256, "1234567890123456789012345678901", true), ERR_RANGE);
    assert_int_equal(load(&key, TOKEN_HS256, "1234567890123456789012345678901\n", true), ERR_RANGE);
    assert_int_equal(load(&key, TOKEN_HS256, "12345678901234567890123456789012", true), OK);
    assert_int_equal(load(&same, TOKEN_HS256, "12345678901234567890123456789012\n", true), OK);
    assert_true(token_key_same(key, same));
    assert_string_equal(token_key_id(key), token_key_id(same));
    token_key_destroy(key);
    token_key_destroy(same);
    assert_int_equal(load(&key, TOKEN_ES256, "12345678901234567890123456789012", true), ERR_INVALID);
}

#define T(literal)                     \
    {                                  \
        (literal), sizeof(literal) - 1 \
    } /* a constant, as a compound literal is not */
static const struct entry_claims claims = {T("anteroom"), T("s"), T("user-1"), T("abcdefghijklmnopqrstuv"), 7,
                                           1000,          1600};

static void an_entry_token_says_what_it_was_given(void **state)
{
    (void)state;
    struct token_key *key;
    char token[TOKEN_MAX], again[TOKEN_MAX];
    int64_t issued, expires;
    jwt_t *jwt;
    assert_int_equal(load(&key, TOKEN_HS256, "12345678901234567890123456789012", true), OK);
    assert_int_equal(token_sign_entry(key, &claims, token, sizeof token), OK);
    assert_int_equal(token_sign_entry(key, &claims, again, sizeof again), OK);
    assert_string_equal(token, again);
    assert_int_equal(token_entry_times(text_of(token), &issued, &expires), OK);
    assert_true(issued == 1000 && expires == 1600);
    assert_int_equal(jwt_decode(&jwt, token, (const unsigned char *)"12345678901234567890123456789012", 32), 0);
    assert_string_equal(jwt_get_grant(jwt, "aud"), "s");
    assert_string_equal(jwt_get_grant(jwt, "jti"), "abcdefghijklmnopqrstuv");
    assert_int_equal(jwt_get_grant_int(jwt, "ticket"), 7);
    assert_string_equal(jwt_get_header(jwt, "kid"), token_key_id(key));
    assert_int_equal(jwt_set_alg(jwt, JWT_ALG_HS256, (const unsigned char *)"12345678901234567890123456789012", 32), 0);
    char *theirs = jwt_encode_str(jwt); /* libjwt writes the same bytes */
    assert_string_equal(token, theirs);
    free(theirs);
    jwt_free(jwt);
    assert_int_equal(token_entry_times(TEXT("a.b.c"), &issued, &expires), ERR_INVALID);
    assert_int_equal(token_entry_times(TEXT(""), &issued, &expires), ERR_INVALID);
    /* {"iat":1,"exp":-1} and {"iat":1,"exp":9223372036854775807}: times that nothing can be made of */
    assert_int_equal(token_entry_times(TEXT("a.eyJpYXQiOjEsImV4cCI6LTF9.c"), &issued, &expires), ERR_INVALID);
    assert_int_equal(token_entry_times(TEXT("a.eyJpYXQiOjEsImV4cCI6OTIyMzM3MjAzNjg1NDc3NTgwN30.c"), &issued, &expires),
                     ERR_INVALID);
    token_key_destroy(key);
}

/* A user token with the given JSON claims and algorithm. */
static void make_user(char *dst, size_t size, const char *json, jwt_alg_t alg)
{
    jwt_t *jwt;
    assert_int_equal(jwt_new(&jwt), 0);
    assert_int_equal(jwt_add_grants_json(jwt, json), 0);
    assert_int_equal(alg == JWT_ALG_NONE
                         ? jwt_set_alg(jwt, alg, NULL, 0)
                         : jwt_set_alg(jwt, alg, (const unsigned char *)"12345678901234567890123456789012", 32),
                     0);
    char *text = jwt_encode_str(jwt);
    snprintf(dst, size, "%s", text);
    free(text);
    jwt_free(jwt);
}

static void user_tokens_are_checked_claim_by_claim(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        jwt_alg_t alg;
        const char *user; /* NULL: denied */
    } rows[] = {
        {"{\"sub\":\"u\",\"exp\":2000,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, "u"},
        {"{\"sub\":\"u\",\"exp\":2000,\"iss\":\"i\",\"aud\":[\"b\",\"a\"]}", JWT_ALG_HS256, "u"},
        {"{\"sub\":42,\"exp\":2000,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, "42"},
        {"{\"sub\":\"u\",\"exp\":971,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, "u"}, /* within the leeway of 30 s */
        {"{\"sub\":\"u\",\"exp\":970,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"u\",\"exp\":\"2000\",\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"u\",\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"u\",\"exp\":2000,\"nbf\":1030,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, "u"},
        {"{\"sub\":\"u\",\"exp\":2000,\"nbf\":1031,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"u\",\"exp\":2000,\"nbf\":\"x\",\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"u\",\"exp\":2000,\"iss\":\"other\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"u\",\"exp\":2000,\"iss\":\"i\",\"aud\":\"b\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"u\",\"exp\":2000,\"iss\":\"i\"}", JWT_ALG_HS256, NULL},
        {"{\"exp\":2000,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"\",\"exp\":2000,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"a\\tb\",\"exp\":2000,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS256, NULL},
        {"{\"sub\":\"u\",\"exp\":2000,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_HS512, NULL},
        {"{\"sub\":\"u\",\"exp\":2000,\"iss\":\"i\",\"aud\":\"a\"}", JWT_ALG_NONE, NULL},
    };
    const struct user_rules rules = {"i", "a", "sub", 30};
    struct keyring ring = {.count = 1};
    char token[TOKEN_MAX], user[USER_ID_MAX + 1];
    assert_int_equal(load(&ring.keys[0], TOKEN_HS256, "12345678901234567890123456789012", true), OK);
    for (size_t i = 0; i < ROWS(rows); i++) {
        make_user(token, sizeof token, rows[i].json, rows[i].alg);
        assert_int_equal(token_verify_user(&ring, text_of(token), &rules, 1000, user), rows[i].user ? OK : ERR_DENIED);
        assert_true(!rows[i].user || strcmp(user, rows[i].user) == 0);
    }
    const char *bad[] = {"", ".", "..", "a.b", "a.b.c", "a.b.c.d", "e30.e30.", "\xff.\xff.\xff"};
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_int_equal(token_verify_user(&ring, text_of(bad[i]), &rules, 1000, user), ERR_DENIED);
    keyring_finish(&ring);
}

/* An entry token of JSON claims, with the ring's kid and libjwt's typ. */
static void make_entry(char *dst, const struct keyring *ring, const char *json)
{
    jwt_t *jwt;
    assert_int_equal(jwt_new(&jwt), 0);
    assert_int_equal(jwt_add_header(jwt, "kid", token_key_id(ring->keys[0])), 0);
    assert_int_equal(jwt_add_grants_json(jwt, json), 0);
    assert_int_equal(jwt_set_alg(jwt, JWT_ALG_HS256, ring->keys[0]->bytes, ring->keys[0]->len), 0);
    char *text = jwt_encode_str(jwt);
    snprintf(dst, TOKEN_MAX, "%s", text);
    free(text);
    jwt_free(jwt);
}

#define WHO "\"sub\":\"u\",\"jti\":\"abcdefghijklmnopqrstuv\","
#define FROM "\"iss\":\"anteroom\",\"aud\":\"s\","
static void entry_tokens_are_checked_claim_by_claim(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool good;
    } rows[] = {
        {"{" WHO FROM "\"exp\":2000}", true},
        {"{" WHO FROM "\"exp\":971}", true}, /* within the leeway of 30 s */
        {"{" WHO FROM "\"exp\":970}", false},
        {"{" WHO FROM "\"exp\":253402300799}", true},
        {"{" WHO FROM "\"exp\":253402300800}", false},
        {"{" WHO FROM "\"exp\":\"2000\"}", false},
        {"{" WHO FROM "\"exp\":2000.0}", false},
        {"{" WHO FROM "\"iat\":1}", false},
        {"{" WHO FROM "\"exp\":2000,\"iat\":1030}", true},
        {"{" WHO FROM "\"exp\":2000,\"iat\":1031}", false},
        {"{" WHO FROM "\"exp\":2000,\"nbf\":1030}", true},
        {"{" WHO FROM "\"exp\":2000,\"nbf\":1031}", false},
        {"{" WHO FROM "\"exp\":2000,\"nbf\":\"x\"}", false},
        {"{" WHO "\"iss\":\"anteroom\",\"aud\":\"t\",\"exp\":2000}", false},
        {"{" WHO "\"iss\":\"anteroom\",\"aud\":[\"s\"],\"exp\":2000}", false},
        {"{" WHO "\"iss\":\"other\",\"aud\":\"s\",\"exp\":2000}", false},
        {"{" WHO "\"aud\":\"s\",\"exp\":2000}", false},
        {"{" FROM "\"sub\":\"u\",\"exp\":2000}", false},
        {"{" FROM "\"sub\":\"u\",\"jti\":\"abcdefghijklmnopqrstu}\",\"exp\":2000}", false},
        {"{" FROM "\"jti\":\"abcdefghijklmnopqrstuv\",\"exp\":2000}", false},
        {"{" FROM "\"sub\":\"\",\"jti\":\"abcdefghijklmnopqrstuv\",\"exp\":2000}", false},
        {"{" FROM "\"sub\":\"a\\r\\nb\",\"jti\":\"abcdefghijklmnopqrstuv\",\"exp\":2000}", false},
    };
    const struct entry_rules one = {"anteroom", T("s")}, any = {"anteroom", {NULL, 0}};
    struct keyring ring = {.count = 1}, empty = {.count = 0};
    struct entry entry;
    char token[TOKEN_MAX];
    assert_int_equal(load(&ring.keys[0], TOKEN_HS256, "12345678901234567890123456789012", true), OK);
    for (size_t i = 0; i < ROWS(rows); i++) {
        make_entry(token, &ring, rows[i].json);
        assert_int_equal(token_verify_entry(&ring, text_of(token), &one, 1000, &entry), rows[i].good ? OK : ERR_DENIED);
    }
    make_entry(token, &ring, "{" WHO "\"iss\":\"anteroom\",\"aud\":\"t\",\"exp\":2000}");
    assert_int_equal(token_verify_entry(&ring, text_of(token), &any, 1000, &entry), OK);
    assert_string_equal(entry.session, "t");
    assert_int_equal(token_verify_entry(&empty, text_of(token), &any, 1000, &entry), ERR_DENIED);
    make_entry(token, &ring, "{" WHO "\"iss\":\"anteroom\",\"aud\":\"a b\",\"exp\":2000}");
    assert_int_equal(token_verify_entry(&ring, text_of(token), &any, 1000, &entry), ERR_DENIED);
    make_user(token, sizeof token, "{" WHO FROM "\"exp\":2000}", JWT_ALG_HS256); /* no kid */
    assert_int_equal(token_verify_entry(&ring, text_of(token), &any, 1000, &entry), ERR_DENIED);
    keyring_finish(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_need_thirty_two_bytes_and_lose_one_newline),
        cmocka_unit_test(an_entry_token_says_what_it_was_given),
        cmocka_unit_test(user_tokens_are_checked_claim_by_claim),
        cmocka_unit_test(entry_tokens_are_checked_claim_by_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "common/line/jwk.h"
#include "common/line/prove.h"
#include "common/line/token.h"
#include "tests/support/unit.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECRET "12345678901234567890123456789012"

static void write_file(char path[32], struct text bytes)
{
    snprintf(path, 32, "/tmp/anteroom-key.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, bytes.at, bytes.len) == (ssize_t)bytes.len);
    close(fd);
}

/* A pair as two rings: one signs, one verifies. */
static void make_pair(enum token_alg alg, struct keyring *signing, struct keyring *verifying)
{
    EVP_PKEY *pkey = alg == TOKEN_RS256 ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    for (int half = 0; half < 2; half++) {
        char path[32], why[256], *at;
        BIO *bio = BIO_new(BIO_s_mem());
        assert_true(half ? PEM_write_bio_PUBKEY(bio, pkey)
                         : PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL));
        long len = BIO_get_mem_data(bio, &at);
        write_file(path, (struct text){at, (size_t)len});
        assert_int_equal(keyring_load_pair(half ? verifying : signing, alg, path, "", "", !half, why, sizeof why), OK);
        BIO_free(bio);
        unlink(path);
    }
    EVP_PKEY_free(pkey);
}

#define T(literal)                     \
    {                                  \
        (literal), sizeof(literal) - 1 \
    } /* a constant, as a compound literal is not */
static const struct entry_claims claims = {T("anteroom"), T("s"), T("user-1"), T("abcdefghijklmnopqrstuv"), 7,
                                           1000,          1600};
static const struct entry_rules rules = {"anteroom", T("s")};

static void libjwt_takes_what_a_key_signs(void **state)
{
    (void)state;
    char why[256], path[32];
    struct token_key *secret;
    write_file(path, TEXT(SECRET));
    assert_int_equal(token_key_load(&secret, TOKEN_HS256, path, NULL, true, why, sizeof why), OK);
    assert_int_equal(token_key_prove(secret), OK);
    unlink(path);
    token_key_destroy(secret);
    for (enum token_alg alg = TOKEN_ES256; alg <= TOKEN_RS256; alg++) {
        struct keyring signing, verifying;
        make_pair(alg, &signing, &verifying);
        assert_int_equal(token_key_prove(signing.keys[0]), OK);
        signing.keys[0]->alg = alg == TOKEN_RS256 ? TOKEN_ES256 : TOKEN_RS256; /* a header that is not the key's */
        assert_int_not_equal(token_key_prove(signing.keys[0]), OK);
        signing.keys[0]->alg = alg;
        assert_int_equal(token_key_prove(verifying.keys[0]), ERR_IO); /* it has nothing to sign with */
        keyring_finish(&signing);
        keyring_finish(&verifying);
    }
}

static void what_one_half_signs_the_other_verifies(void **state)
{
    (void)state;
    for (enum token_alg alg = TOKEN_ES256; alg <= TOKEN_RS256; alg++) {
        struct keyring signing, verifying, other, other_public;
        struct entry entry;
        char token[TOKEN_MAX];
        make_pair(alg, &signing, &verifying);
        make_pair(alg, &other, &other_public);
        /* Often enough that r or s of ES256 begins with zeros. */
        for (int i = 0; i < (alg == TOKEN_ES256 ? 600 : 3); i++) {
            assert_int_equal(token_sign_entry(signing.keys[0], &claims, token, sizeof token), OK);
            assert_int_equal(token_verify_entry(&verifying, text_of(token), &rules, 1000, &entry), OK);
        }
        assert_string_equal(entry.session, "s");
        assert_string_equal(entry.user, "user-1");
        assert_string_equal(entry.place, "abcdefghijklmnopqrstuv");
        assert_int_equal(entry.expires_s, 1600);
        assert_int_equal(token_verify_entry(&other_public, text_of(token), &rules, 1000, &entry), ERR_DENIED);
        assert_string_equal(entry.user, "");
        size_t len = strlen(token), step = alg == TOKEN_RS256 ? 7 : 1;
        for (size_t at = 0; at < len; at += step) {
            char was = token[at];
            token[at] = was == 'A' ? 'B' : 'A';
            assert_int_equal(token_verify_entry(&verifying, text_of(token), &rules, 1000, &entry), ERR_DENIED);
            token[at] = was;
            assert_int_equal(token_verify_entry(&verifying, (struct text){token, at}, &rules, 1000, &entry),
                             ERR_DENIED);
        }
        keyring_finish(&signing);
        keyring_finish(&verifying);
        keyring_finish(&other);
        keyring_finish(&other_public);
    }
}

static void a_jwk_comes_back_as_it_was(void **state)
{
    (void)state;
    for (enum token_alg alg = TOKEN_ES256; alg <= TOKEN_RS256; alg++) {
        struct keyring signing, verifying, read;
        struct buf json;
        char path[32], why[256];
        make_pair(alg, &signing, &verifying);
        buf_init(&json, 8192);
        assert_int_equal(keyring_write(&signing, &json), OK); /* of a private key: the public half */
        assert_null(memmem(json.data, json.len, "\"d\"", 3));
        write_file(path, buf_view(&json));
        assert_int_equal(keyring_load_site(&read, alg, path, why, sizeof why), OK);
        assert_int_equal(read.count, 1);
        assert_true(token_key_same(read.keys[0], verifying.keys[0]));
        assert_string_equal(token_key_id(read.keys[0]), token_key_id(signing.keys[0]));
        keyring_finish(&read);
        enum token_alg another = alg == TOKEN_ES256 ? TOKEN_RS256 : TOKEN_ES256;
        assert_int_equal(keyring_load_site(&read, another, path, why, sizeof why), ERR_INVALID);
        assert_int_equal(read.count, 0);
        unlink(path);
        buf_finish(&json);
        keyring_finish(&signing);
        keyring_finish(&verifying);
    }
}

static void secrets_are_not_written(void **state)
{
    (void)state;
    struct keyring ring;
    struct buf json;
    char path[32], why[256];
    write_file(path, TEXT(SECRET));
    assert_int_equal(keyring_load_site(&ring, TOKEN_HS256, path, why, sizeof why), OK);
    buf_init(&json, 8192);
    assert_int_equal(keyring_write(&ring, &json), OK);
    assert_true(text_is(buf_view(&json), "{\"keys\":[]}\n"));
    unlink(path);
    buf_finish(&json);
    keyring_finish(&ring);
}

static void a_ring_holds_sixteen_keys(void **state)
{
    (void)state;
    struct keyring ring = {.count = 0};
    const char *reason;
    for (int i = 0; i <= KEYRING_MAX; i++) {
        struct token_key *key;
        assert_int_equal(token_key_of_bytes(&key, TOKEN_HS256, TEXT(SECRET), false, &reason), OK);
        assert_int_equal(keyring_add(&ring, key), i < KEYRING_MAX ? OK : ERR_TOO_BIG);
    }
    keyring_finish(&ring);
    keyring_finish(&ring);
}

static void the_next_key_may_be_missing_but_not_the_same(void **state)
{
    (void)state;
    struct keyring ring;
    char first[32], second[32], empty[32], why[256];
    write_file(first, TEXT(SECRET));
    write_file(second, TEXT("another " SECRET));
    write_file(empty, TEXT(""));
    const struct {
        const char *id, *next;
        enum err err;
        size_t count;
    } rows[] = {
        {"", "", OK, 1},
        {"", "/nowhere/at/all", OK, 1},
        {"", empty, OK, 1},
        {"", second, OK, 2},
        {"", first, ERR_INVALID, 0},
        {"mine", "", OK, 1},
        {"mine", second, ERR_INVALID, 0},
        {"", "/", ERR_IO, 0},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        assert_int_equal(keyring_load_pair(&ring, TOKEN_HS256, first, rows[i].id, rows[i].next, true, why, sizeof why),
                         rows[i].err);
        assert_int_equal(ring.count, rows[i].count);
        assert_true(rows[i].err == OK || !strstr(why, SECRET));
        keyring_finish(&ring);
    }
    unlink(first);
    unlink(second);
    unlink(empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libjwt_takes_what_a_key_signs), cmocka_unit_test(what_one_half_signs_the_other_verifies),
        cmocka_unit_test(a_jwk_comes_back_as_it_was),    cmocka_unit_test(secrets_are_not_written),
        cmocka_unit_test(a_ring_holds_sixteen_keys),     cmocka_unit_test(the_next_key_may_be_missing_but_not_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

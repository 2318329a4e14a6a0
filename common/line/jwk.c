#include "common/line/jwk.h"

#include "common/base/check.h"
#include "common/line/memory.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#define NUMBER_MAX 1024 /* bytes of a number or a secret: RSA of 8,192 bits */
#define COORDINATE_LEN 32

static const char *const kinds[] = {[TOKEN_HS256] = "oct", [TOKEN_ES256] = "EC", [TOKEN_RS256] = "RSA"};

/* ---- reading ---- */

/* A member that is base64url of 1 to SIZE bytes. */
static bool get_bytes(const json_t *jwk, const char *name, unsigned char *dst, size_t size, size_t *len)
{
    const char *value = json_string_value(json_object_get(jwk, name));
    return value && base64url_decode(dst, size, text_of(value), len) == OK && *len > 0;
}

/* Absent, or that string. */
static bool says(const json_t *jwk, const char *name, const char *wanted)
{
    const json_t *value = json_object_get(jwk, name);
    return !value || (json_is_string(value) && strcmp(json_string_value(value), wanted) == 0);
}

/* Whether it is meant for what we do. */
static bool concerns_us(const json_t *jwk, enum token_alg alg)
{
    if (!json_is_object(jwk) || !json_object_get(jwk, "kty") || !says(jwk, "kty", kinds[alg]))
        return false;
    return says(jwk, "alg", token_alg_name(alg)) && says(jwk, "use", "sig") &&
           (alg != TOKEN_ES256 || says(jwk, "crv", "P-256"));
}

/* Consumes BUILD. */
static EVP_PKEY *pkey_make(const char *type, OSSL_PARAM_BLD *build, bool filled)
{
    OSSL_PARAM *params = filled ? OSSL_PARAM_BLD_to_param(build) : NULL;
    EVP_PKEY_CTX *ctx = params ? EVP_PKEY_CTX_new_from_name(NULL, type, NULL) : NULL;
    EVP_PKEY *pkey = NULL;
    if (ctx && EVP_PKEY_fromdata_init(ctx) == 1 && EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
        pkey = NULL;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    ERR_clear_error();
    return pkey;
}

static EVP_PKEY *rsa_key(const json_t *jwk)
{
    unsigned char n[NUMBER_MAX], e[NUMBER_MAX];
    size_t n_len, e_len;
    if (!get_bytes(jwk, "n", n, sizeof n, &n_len) || !get_bytes(jwk, "e", e, sizeof e, &e_len))
        return NULL;
    BIGNUM *modulus = BN_bin2bn(n, (int)n_len, NULL), *exponent = BN_bin2bn(e, (int)e_len, NULL);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    /* 1 as exponent would make anything its own signature. */
    bool filled = modulus && exponent && build && BN_is_odd(exponent) && !BN_is_one(exponent) &&
                  OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
                  OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1;
    EVP_PKEY *pkey = pkey_make("RSA", build, filled);
    BN_free(modulus);
    BN_free(exponent);
    return pkey;
}

static EVP_PKEY *ec_key(const json_t *jwk)
{
    unsigned char point[1 + 2 * COORDINATE_LEN] = {0x04}; /* uncompressed */
    size_t x_len, y_len;
    if (!get_bytes(jwk, "x", point + 1, COORDINATE_LEN, &x_len) || x_len != COORDINATE_LEN ||
        !get_bytes(jwk, "y", point + 1 + COORDINATE_LEN, COORDINATE_LEN, &y_len) || y_len != COORDINATE_LEN)
        return NULL;
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    bool filled = build && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1 &&
                  OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point) == 1;
    return pkey_make("EC", build, filled);
}

static enum err secret_key(struct token_key **out, const json_t *jwk, const char **reason)
{
    unsigned char secret[NUMBER_MAX];
    size_t len;
    if (!get_bytes(jwk, "k", secret, sizeof secret, &len))
        return ERR_INVALID;
    enum err err = token_key_of_bytes(out, TOKEN_HS256, (struct text){(char *)secret, len}, false, reason);
    OPENSSL_cleanse(secret, sizeof secret);
    return err;
}

static enum err read_key(struct token_key **out, enum token_alg alg, const json_t *jwk, const char **reason)
{
    if (alg == TOKEN_HS256)
        return secret_key(out, jwk, reason);
    size_t refused = memory_refused();
    EVP_PKEY *pkey = alg == TOKEN_RS256 ? rsa_key(jwk) : ec_key(jwk);
    if (pkey)
        return token_key_of_public(out, alg, pkey, reason);
    if (memory_refused() == refused)
        return ERR_INVALID;
    *reason = "there is no memory for it";
    return ERR_NOMEM;
}

enum err jwk_read(struct token_key **out, enum token_alg alg, const json_t *jwk, const char **reason)
{
    const json_t *id = json_object_get(jwk, "kid");
    if (!concerns_us(jwk, alg))
        return ERR_MISSING;
    *reason = "a kid in it is no text of 1 to 128 bytes";
    if (id && (!json_is_string(id) || json_string_length(id) == 0 || json_string_length(id) > KEY_ID_MAX))
        return ERR_INVALID;
    *reason = "a key in it is malformed";
    enum err err = read_key(out, alg, jwk, reason);
    if (err == OK && id) {
        (*out)->named = true;
        snprintf((*out)->id, sizeof(*out)->id, "%s", json_string_value(id));
    }
    return err;
}

/* ---- writing ---- */

/* ,"NAME":"…", the number in LEN bytes (0: as many as it needs). */
static enum err put_number(struct buf *out, const char *name, const EVP_PKEY *pkey, const char *param, int len)
{
    unsigned char bytes[NUMBER_MAX];
    char text[BASE64URL_LEN(NUMBER_MAX)];
    BIGNUM *number = NULL;
    enum err err = EVP_PKEY_get_bn_param(pkey, param, &number) == 1 ? OK : ERR_NOMEM;
    if (err == OK && BN_num_bytes(number) > NUMBER_MAX)
        err = ERR_TOO_BIG;
    if (err == OK) {
        len = len ? len : BN_num_bytes(number);
        CHECK(BN_bn2binpad(number, bytes, len) == len);
        base64url_encode(text, bytes, (size_t)len);
        err = buf_format(out, ",\"%s\":\"%.*s\"", name, (int)BASE64URL_LEN((size_t)len), text);
    }
    BN_free(number);
    return err;
}

enum err jwk_write(struct buf *out, const struct token_key *key)
{
    CHECK(key->alg != TOKEN_HS256);
    enum err err = buf_format(out, "{\"kty\":\"%s\",\"use\":\"sig\",\"alg\":\"%s\",\"kid\":\"", kinds[key->alg],
                              token_alg_name(key->alg));
    if (err == OK)
        err = buf_json(out, text_of(key->id));
    if (err == OK)
        err = buf_text(out, key->alg == TOKEN_ES256 ? TEXT("\",\"crv\":\"P-256\"") : TEXT("\""));
    if (key->alg == TOKEN_RS256) {
        if (err == OK)
            err = put_number(out, "n", key->pkey, OSSL_PKEY_PARAM_RSA_N, 0);
        if (err == OK)
            err = put_number(out, "e", key->pkey, OSSL_PKEY_PARAM_RSA_E, 0);
    } else {
        if (err == OK)
            err = put_number(out, "x", key->pkey, OSSL_PKEY_PARAM_EC_PUB_X, COORDINATE_LEN);
        if (err == OK)
            err = put_number(out, "y", key->pkey, OSSL_PKEY_PARAM_EC_PUB_Y, COORDINATE_LEN);
    }
    return err == OK ? buf_text(out, TEXT("}")) : err;
}

#include "common/line/token.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <jwt.h>
#include <stdio.h>
#include <stdlib.h>

static const jwt_alg_t jwt_algs[] = {[TOKEN_HS256] = JWT_ALG_HS256, [TOKEN_ES256] = JWT_ALG_ES256, [TOKEN_RS256] = JWT_ALG_RS256};

/* ---- signing ---- */

static int add_text(jwt_t *jwt, const char *name, struct text value)
{
    char copy[USER_ID_MAX + 1];
    return text_copy(copy, sizeof copy, value) == OK ? jwt_add_grant(jwt, name, copy) : EINVAL;
}

static enum err jwt_finish(jwt_t *jwt, const struct token_key *key, char *dst, size_t size)
{
    if (jwt_set_alg(jwt, jwt_algs[key->alg], key->bytes, key->len) != 0)
        return ERR_IO;
    char *encoded = jwt_encode_str(jwt);
    if (!encoded)
        return ERR_IO;
    enum err err = text_copy(dst, size, text_of(encoded));
    free(encoded);
    return err;
}

enum err token_sign_entry(const struct token_key *key, const struct entry_claims *claims, char *dst, size_t size)
{
    jwt_t *jwt;
    if (jwt_new(&jwt) != 0)
        return ERR_NOMEM;
    int failed = jwt_add_header(jwt, "kid", key->id) | add_text(jwt, "iss", claims->issuer) |
                 add_text(jwt, "aud", claims->session) | add_text(jwt, "sub", claims->subject) |
                 add_text(jwt, "jti", claims->place) | jwt_add_grant_int(jwt, "iat", (long)claims->issued_s) |
                 jwt_add_grant_int(jwt, "exp", (long)claims->expires_s) |
                 jwt_add_grant_int(jwt, "ticket", (long)claims->ticket);
    enum err err = failed ? ERR_NOMEM : jwt_finish(jwt, key, dst, size);
    jwt_free(jwt);
    return err;
}

/* ---- verifying ---- */

/* Three non-empty base64url parts, and short: what reaches libjwt. */
static bool looks_like_jwt(struct text token)
{
    struct text rest = token, part;
    int parts = 0;
    if (token.len == 0 || token.len >= TOKEN_MAX)
        return false;
    while (text_next(&rest, '.', &part)) {
        if (part.len == 0 || ++parts > 3)
            return false;
        for (size_t i = 0; i < part.len; i++)
            if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", part.at[i]) || !part.at[i])
                return false;
    }
    return parts == 3;
}

/* The signature checked with exactly the key's algorithm; NULL when it does not hold. */
static jwt_t *verified(const struct token_key *key, struct text token)
{
    char copy[TOKEN_MAX];
    jwt_t *jwt = NULL;
    if (!looks_like_jwt(token) || text_copy(copy, sizeof copy, token) != OK)
        return NULL;
    if (jwt_decode(&jwt, copy, key->bytes, key->len) != 0)
        return NULL;
    if (jwt_get_alg(jwt) != jwt_algs[key->alg]) {
        jwt_free(jwt);
        return NULL;
    }
    return jwt;
}

static bool get_number(jwt_t *jwt, const char *name, int64_t min, int64_t *out)
{
    errno = 0;
    long value = jwt_get_grant_int(jwt, name);
    if (errno != 0 || value < min)
        return false;
    *out = value;
    return true;
}

static bool get_text(jwt_t *jwt, const char *name, char *dst, size_t size)
{
    errno = 0;
    const char *value = jwt_get_grant(jwt, name);
    return value && errno == 0 && text_copy(dst, size, text_of(value)) == OK;
}

static bool audience_holds(jwt_t *jwt, const char *wanted)
{
    char *text = jwt_get_grants_json(jwt, "aud");
    json_t *aud = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    free(text);
    bool holds = json_is_string(aud) && strcmp(json_string_value(aud), wanted) == 0;
    size_t i;
    json_t *one;
    json_array_foreach(aud, i, one) holds = holds || (json_is_string(one) && strcmp(json_string_value(one), wanted) == 0);
    json_decref(aud);
    return holds;
}

static bool user_allowed(jwt_t *jwt, const struct user_rules *rules, int64_t now_s)
{
    char issuer[512];
    int64_t exp, nbf;
    if (!get_number(jwt, "exp", 0, &exp) || exp + rules->leeway_s <= now_s)
        return false;
    errno = 0;
    nbf = jwt_get_grant_int(jwt, "nbf");
    if (errno != ENOENT && (errno != 0 || nbf - rules->leeway_s > now_s)) /* absent is fine, anything but a number is not */
        return false;
    if (rules->issuer[0] && (!get_text(jwt, "iss", issuer, sizeof issuer) || strcmp(issuer, rules->issuer) != 0))
        return false;
    return !rules->audience[0] || audience_holds(jwt, rules->audience);
}

/* A user id may be a string or a number (many sites' "sub" is a row id). */
static bool user_read(jwt_t *jwt, const char *claim, char user[USER_ID_MAX + 1])
{
    int64_t number;
    if (!get_text(jwt, claim, user, USER_ID_MAX + 1)) {
        if (!get_number(jwt, claim, 0, &number))
            return false;
        snprintf(user, USER_ID_MAX + 1, "%" PRId64, number);
    }
    for (const char *p = user; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return user[0] != '\0';
}

enum err token_verify_user(const struct token_key *key, struct text token, const struct user_rules *rules, int64_t now_s,
                           char user[USER_ID_MAX + 1])
{
    user[0] = '\0';
    jwt_t *jwt = verified(key, token);
    if (!jwt)
        return ERR_DENIED;
    bool good = user_allowed(jwt, rules, now_s) && user_read(jwt, rules->claim, user);
    jwt_free(jwt);
    return good ? OK : ERR_DENIED;
}

enum err token_entry_times(struct text token, int64_t *issued_s, int64_t *expires_s)
{
    struct text rest = token, part;
    uint8_t payload[TOKEN_MAX];
    size_t len;
    if (!text_next(&rest, '.', &part) || !text_next(&rest, '.', &part) ||
        base64url_decode(payload, sizeof payload, part, &len) != OK)
        return ERR_INVALID;
    json_t *claims = json_loadb((const char *)payload, len, JSON_REJECT_DUPLICATES, NULL);
    json_t *iat = json_object_get(claims, "iat"), *exp = json_object_get(claims, "exp");
    bool good = json_is_integer(iat) && json_is_integer(exp);
    if (good) {
        *issued_s = json_integer_value(iat);
        *expires_s = json_integer_value(exp);
    }
    json_decref(claims);
    return good ? OK : ERR_INVALID;
}

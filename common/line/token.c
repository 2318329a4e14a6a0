#include "common/line/token.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <jwt.h>
#include <stdio.h>
#include <stdlib.h>

static const jwt_alg_t jwt_algs[] = {
    [TOKEN_HS256] = JWT_ALG_HS256, [TOKEN_ES256] = JWT_ALG_ES256, [TOKEN_RS256] = JWT_ALG_RS256};

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

/* The claims as they were signed. libjwt's own readers take a string for the number 0, so they are not used. */
static json_t *payload_of(struct text token)
{
    struct text rest = token, part;
    uint8_t bytes[TOKEN_MAX];
    size_t len;
    if (!text_next(&rest, '.', &part) || !text_next(&rest, '.', &part) ||
        base64url_decode(bytes, sizeof bytes, part, &len) != OK)
        return NULL;
    return json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES, NULL);
}

/* The claims, where the signature holds with exactly the key's algorithm; else NULL. */
static json_t *verified(const struct token_key *key, struct text token)
{
    char copy[TOKEN_MAX];
    jwt_t *jwt = NULL;
    if (!looks_like_jwt(token) || text_copy(copy, sizeof copy, token) != OK)
        return NULL;
    if (jwt_decode(&jwt, copy, key->bytes, key->len) != 0)
        return NULL;
    bool right = jwt_get_alg(jwt) == jwt_algs[key->alg];
    jwt_free(jwt);
    return right ? payload_of(token) : NULL;
}

static bool audience_holds(const json_t *aud, const char *wanted)
{
    bool holds = json_is_string(aud) && strcmp(json_string_value(aud), wanted) == 0;
    for (size_t i = 0; i < json_array_size(aud); i++) {
        const char *one = json_string_value(json_array_get(aud, i));
        holds = holds || (one && strcmp(one, wanted) == 0);
    }
    return holds;
}

static bool user_allowed(const json_t *claims, const struct user_rules *rules, int64_t now_s)
{
    const json_t *exp = json_object_get(claims, "exp"), *nbf = json_object_get(claims, "nbf");
    const char *issuer = json_string_value(json_object_get(claims, "iss"));
    if (!json_is_integer(exp) || json_integer_value(exp) <= now_s - rules->leeway_s)
        return false;
    if (nbf && (!json_is_integer(nbf) || json_integer_value(nbf) > now_s + rules->leeway_s))
        return false;
    if (rules->issuer[0] && (!issuer || strcmp(issuer, rules->issuer) != 0))
        return false;
    return !rules->audience[0] || audience_holds(json_object_get(claims, "aud"), rules->audience);
}

/* A user id may be a string or a number (many sites' "sub" is a row id). */
static bool user_read(const json_t *value, char user[USER_ID_MAX + 1])
{
    if (json_is_integer(value)) {
        snprintf(user, USER_ID_MAX + 1, "%" PRId64, (int64_t)json_integer_value(value));
        return true;
    }
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value) ||
        text_copy(user, USER_ID_MAX + 1, text_of(json_string_value(value))) != OK)
        return false;
    for (const char *p = user; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return user[0] != '\0';
}

enum err token_verify_user(const struct token_key *key, struct text token, const struct user_rules *rules,
                           int64_t now_s, char user[USER_ID_MAX + 1])
{
    user[0] = '\0';
    json_t *claims = verified(key, token);
    bool good = claims && user_allowed(claims, rules, now_s) && user_read(json_object_get(claims, rules->claim), user);
    json_decref(claims);
    return good ? OK : ERR_DENIED;
}

enum err token_entry_times(struct text token, int64_t *issued_s, int64_t *expires_s)
{
    json_t *claims = payload_of(token);
    json_t *iat = json_object_get(claims, "iat"), *exp = json_object_get(claims, "exp");
    bool good = json_is_integer(iat) && json_is_integer(exp);
    if (good) {
        *issued_s = json_integer_value(iat);
        *expires_s = json_integer_value(exp);
    }
    json_decref(claims);
    return good ? OK : ERR_INVALID;
}

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

/* SIZE counts the NUL. */
static bool get_text(const json_t *claims, const char *name, char *dst, size_t size)
{
    const json_t *value = json_object_get(claims, name);
    return json_is_string(value) && text_copy(dst, size, text_of(json_string_value(value))) == OK && dst[0];
}

static bool without_controls(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return true;
}

/* A user id may be a string or a number (many sites' "sub" is a row id). */
static bool user_read(const json_t *claims, const char *name, char user[USER_ID_MAX + 1])
{
    const json_t *value = json_object_get(claims, name);
    if (json_is_integer(value)) {
        snprintf(user, USER_ID_MAX + 1, "%" PRId64, (int64_t)json_integer_value(value));
        return true;
    }
    return get_text(claims, name, user, USER_ID_MAX + 1) && without_controls(user);
}

enum err token_verify_user(const struct keyring *ring, struct text token, const struct user_rules *rules, int64_t now_s,
                           char user[USER_ID_MAX + 1])
{
    user[0] = '\0';
    json_t *claims = jws_open(ring, JWS_SITES, token);
    bool good = claims && user_allowed(claims, rules, now_s) && user_read(claims, rules->claim, user);
    json_decref(claims);
    return good ? OK : ERR_DENIED;
}

/* Absent, or an instant that has come. */
static bool has_come(const json_t *claims, const char *name, int64_t now_s)
{
    const json_t *value = json_object_get(claims, name);
    return !value || (json_is_integer(value) && json_integer_value(value) <= now_s + TOKEN_LEEWAY_S);
}

static bool entry_allowed(const json_t *claims, const struct entry_rules *rules, int64_t now_s, struct entry *entry)
{
    const json_t *exp = json_object_get(claims, "exp");
    const char *issuer = json_string_value(json_object_get(claims, "iss"));
    if (!json_is_integer(exp) || json_integer_value(exp) <= now_s - TOKEN_LEEWAY_S ||
        json_integer_value(exp) > TOKEN_INSTANT_MAX_S || !has_come(claims, "iat", now_s) ||
        !has_come(claims, "nbf", now_s))
        return false;
    entry->expires_s = json_integer_value(exp);
    if (!issuer || strcmp(issuer, rules->issuer) != 0 ||
        !get_text(claims, "aud", entry->session, sizeof entry->session) || !session_id_valid(text_of(entry->session)) ||
        (rules->session.at && !text_is(rules->session, entry->session)))
        return false;
    return get_text(claims, "jti", entry->place, sizeof entry->place) && place_id_valid(text_of(entry->place)) &&
           get_text(claims, "sub", entry->user, sizeof entry->user) && without_controls(entry->user);
}

enum err token_verify_entry(const struct keyring *ring, struct text token, const struct entry_rules *rules,
                            int64_t now_s, struct entry *entry)
{
    *entry = (struct entry){.expires_s = 0};
    json_t *claims = jws_open(ring, JWS_OURS, token);
    bool good = claims && entry_allowed(claims, rules, now_s, entry);
    json_decref(claims);
    return good ? OK : ERR_DENIED;
}

enum err token_entry_times(struct text token, int64_t *issued_s, int64_t *expires_s)
{
    json_t *claims = jws_peek(token);
    json_t *iat = json_object_get(claims, "iat"), *exp = json_object_get(claims, "exp");
    bool good = json_is_integer(iat) && json_is_integer(exp) && text_is_plain(token);
    if (good) {
        *issued_s = json_integer_value(iat);
        *expires_s = json_integer_value(exp);
    }
    json_decref(claims);
    return good ? OK : ERR_INVALID;
}

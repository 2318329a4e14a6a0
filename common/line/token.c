#include "common/line/token.h"

#include "common/base/buf.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

/* ---- signing ---- */

static enum err put(struct buf *out, const char *before, struct text value)
{
    enum err err = buf_text(out, text_of(before));
    return err == OK ? buf_json(out, value) : err;
}

/* In the order of the names: a repeated signing gives the same bytes. */
static enum err write_claims(const struct entry_claims *claims, struct buf *out)
{
    enum err err = put(out, "{\"aud\":\"", claims->session);
    if (err == OK)
        err = buf_format(out, "\",\"exp\":%" PRId64 ",\"iat\":%" PRId64, claims->expires_s, claims->issued_s);
    if (err == OK)
        err = put(out, ",\"iss\":\"", claims->issuer);
    if (err == OK)
        err = put(out, "\",\"jti\":\"", claims->place);
    if (err == OK)
        err = put(out, "\",\"sub\":\"", claims->subject);
    return err == OK ? buf_format(out, "\",\"ticket\":%" PRIu64 "}", claims->ticket) : err;
}

enum err token_sign_entry(const struct token_key *key, const struct entry_claims *claims, char *dst, size_t size)
{
    struct buf written;
    buf_init(&written, TOKEN_MAX);
    enum err err = write_claims(claims, &written);
    if (err == OK)
        err = jws_sign(key, buf_view(&written), dst, size);
    buf_finish(&written);
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
    json_t *claims;
    enum err err = jws_open(ring, JWS_SITES, token, &claims);
    if (err == OK && (!user_allowed(claims, rules, now_s) || !user_read(claims, rules->claim, user)))
        err = ERR_DENIED;
    json_decref(claims);
    return err;
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
    json_t *claims;
    enum err err = jws_open(ring, JWS_OURS, token, &claims);
    if (err == OK && !entry_allowed(claims, rules, now_s, entry))
        err = ERR_DENIED;
    json_decref(claims);
    return err;
}

static bool is_instant(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) <= TOKEN_INSTANT_MAX_S;
}

enum err token_entry_times(struct text token, int64_t *issued_s, int64_t *expires_s)
{
    json_t *claims;
    enum err err = jws_peek(token, &claims);
    const json_t *iat = json_object_get(claims, "iat"), *exp = json_object_get(claims, "exp");
    if (err == OK && (!is_instant(iat) || !is_instant(exp) || !text_is_plain(token)))
        err = ERR_INVALID;
    if (err == OK) {
        *issued_s = json_integer_value(iat);
        *expires_s = json_integer_value(exp);
    }
    json_decref(claims);
    return err;
}

#include "common/line/token.h"

#include "common/base/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <jwt.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

#define SECRET_MIN 32
#define KEY_FILE_MAX 65536
#define TICKET_TYPE "anteroom-ticket+jwt"
#define TICKET_AUDIENCE "anteroom-gateway"

struct token_key {
    enum token_alg alg;
    jwt_alg_t jwt_alg;
    char id[65];
    unsigned char fingerprint[32]; /* of the secret, or of the public key */
    int len;
    unsigned char bytes[]; /* the secret or the PEM, terminated */
};

static const struct {
    const char *name;
    enum token_alg alg;
    jwt_alg_t jwt_alg;
} algs[] = {
    {"HS256", TOKEN_HS256, JWT_ALG_HS256},
    {"ES256", TOKEN_ES256, JWT_ALG_ES256},
    {"RS256", TOKEN_RS256, JWT_ALG_RS256},
};

enum err token_alg_parse(struct text name, enum token_alg *alg)
{
    for (size_t i = 0; i < sizeof algs / sizeof algs[0]; i++) {
        if (text_is(name, algs[i].name)) {
            *alg = algs[i].alg;
            return OK;
        }
    }
    return ERR_INVALID;
}

static enum err read_file(const char *path, struct buf *buf)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return ERR_IO;
    enum err err = buf_reserve(buf, KEY_FILE_MAX);
    if (err == OK) {
        buf->len = fread(buf->data, 1, KEY_FILE_MAX, file);
        err = ferror(file) ? ERR_IO : buf->len == KEY_FILE_MAX ? ERR_TOO_BIG : OK;
    }
    fclose(file);
    return err;
}

/* The PEM's key, whole (signing) or public. */
static EVP_PKEY *pem_key(const struct token_key *key, bool signing)
{
    BIO *bio = BIO_new_mem_buf(key->bytes, key->len);
    if (!bio)
        return NULL;
    EVP_PKEY *pkey = signing ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    BIO_free(bio);
    return pkey;
}

static bool pem_fits(const EVP_PKEY *pkey, enum token_alg alg)
{
    char group[32] = "";
    if (alg == TOKEN_RS256)
        return EVP_PKEY_base_id(pkey) == EVP_PKEY_RSA && EVP_PKEY_bits(pkey) >= 2048;
    return EVP_PKEY_base_id(pkey) == EVP_PKEY_EC && EVP_PKEY_get_group_name(pkey, group, sizeof group, NULL) == 1 &&
           strcmp(group, "prime256v1") == 0;
}

static enum err fingerprint(struct token_key *key, bool signing, const char **why)
{
    if (key->alg == TOKEN_HS256) {
        *why = "an HS256 key needs at least 32 bytes";
        return key->len >= SECRET_MIN && EVP_Digest(key->bytes, (size_t)key->len, key->fingerprint, NULL, EVP_sha256(), NULL)
                   ? OK
                   : ERR_RANGE;
    }
    EVP_PKEY *pkey = pem_key(key, signing);
    *why = signing ? "no PEM private key in it" : "no PEM public key in it";
    if (!pkey)
        return ERR_INVALID;
    *why = "its key does not fit the algorithm (ES256: P-256, RS256: RSA of 2048 bits or more)";
    unsigned char *der = NULL;
    int len = pem_fits(pkey, key->alg) ? i2d_PUBKEY(pkey, &der) : 0;
    bool done = len > 0 && EVP_Digest(der, (size_t)len, key->fingerprint, NULL, EVP_sha256(), NULL);
    OPENSSL_free(der);
    EVP_PKEY_free(pkey);
    return done ? OK : ERR_INVALID;
}

enum err token_key_load(struct token_key **out, enum token_alg alg, const char *file, const char *key_id, bool signing,
                        char *why, size_t why_size)
{
    struct buf buf;
    buf_init(&buf, KEY_FILE_MAX);
    const char *reason = "cannot be read";
    struct token_key *key = NULL;
    enum err err = read_file(file, &buf);
    if (err == OK && alg == TOKEN_HS256 && buf.len > 0 && buf.data[buf.len - 1] == '\n')
        buf.len--;
    if (err == OK && !(key = calloc(1, sizeof *key + buf.len + 1)))
        err = ERR_NOMEM;
    if (err == OK) {
        key->alg = alg;
        key->jwt_alg = algs[alg].jwt_alg;
        key->len = (int)buf.len;
        if (buf.len)
            memcpy(key->bytes, buf.data, buf.len);
        err = fingerprint(key, signing, &reason);
    }
    if (buf.data)
        OPENSSL_cleanse(buf.data, buf.len);
    buf_finish(&buf);
    if (err != OK) {
        snprintf(why, why_size, "%s: %s", file, reason);
        token_key_destroy(key);
        return err;
    }
    if (key_id && *key_id) {
        snprintf(key->id, sizeof key->id, "%s", key_id);
    } else {
        /* A hash of the hash: the id is public, a secret's own hash need not be. */
        unsigned char digest[32];
        EVP_Digest(key->fingerprint, sizeof key->fingerprint, digest, NULL, EVP_sha256(), NULL);
        hex_encode(key->id, digest, 8);
    }
    *out = key;
    return OK;
}

void token_key_destroy(struct token_key *key)
{
    if (!key)
        return;
    OPENSSL_cleanse(key->bytes, (size_t)key->len);
    free(key);
}

const char *token_key_id(const struct token_key *key)
{
    return key->id;
}

bool token_key_same(const struct token_key *a, const struct token_key *b)
{
    return memcmp(a->fingerprint, b->fingerprint, sizeof a->fingerprint) == 0;
}

/* ---- signing ---- */

static int add_text(jwt_t *jwt, const char *name, struct text value)
{
    char copy[USER_ID_MAX + 1];
    return text_copy(copy, sizeof copy, value) == OK ? jwt_add_grant(jwt, name, copy) : EINVAL;
}

static enum err jwt_finish(jwt_t *jwt, const struct token_key *key, char *dst, size_t size)
{
    if (jwt_set_alg(jwt, key->jwt_alg, key->bytes, key->len) != 0)
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

enum err token_sign_ticket(const struct token_key *key, const struct ticket *ticket, char *dst, size_t size)
{
    jwt_t *jwt;
    if (jwt_new(&jwt) != 0)
        return ERR_NOMEM;
    int failed = jwt_add_header(jwt, "typ", TICKET_TYPE) | jwt_add_grant(jwt, "aud", TICKET_AUDIENCE) |
                 jwt_add_grant(jwt, "session", ticket->session) | jwt_add_grant(jwt, "place", ticket->place) |
                 (ticket->user[0] ? jwt_add_grant(jwt, "user", ticket->user) : 0) |
                 jwt_add_grant_int(jwt, "epoch", (long)ticket->epoch) |
                 jwt_add_grant_int(jwt, "ticket", (long)ticket->number) |
                 jwt_add_grant_int(jwt, "gen", (long)ticket->gen);
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
    if (jwt_get_alg(jwt) != key->jwt_alg) {
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

static bool ticket_read(jwt_t *jwt, struct ticket *ticket)
{
    char audience[sizeof TICKET_AUDIENCE + 1];
    int64_t epoch, number, gen;
    const char *type = jwt_get_header(jwt, "typ");
    if (!type || strcmp(type, TICKET_TYPE) != 0 || !get_text(jwt, "aud", audience, sizeof audience) ||
        strcmp(audience, TICKET_AUDIENCE) != 0)
        return false;
    if (!get_text(jwt, "session", ticket->session, sizeof ticket->session) ||
        !get_text(jwt, "place", ticket->place, sizeof ticket->place) || !get_number(jwt, "epoch", 1, &epoch) ||
        !get_number(jwt, "ticket", 0, &number) || !get_number(jwt, "gen", 1, &gen) || gen > UINT32_MAX)
        return false;
    if (jwt_get_grant(jwt, "user") && !get_text(jwt, "user", ticket->user, sizeof ticket->user))
        return false;
    ticket->epoch = (uint64_t)epoch;
    ticket->number = (uint64_t)number;
    ticket->gen = (uint32_t)gen;
    return session_id_valid(text_of(ticket->session)) && place_id_valid(text_of(ticket->place));
}

enum err token_verify_ticket(const struct token_key *key, struct text token, struct ticket *ticket)
{
    *ticket = (struct ticket){.epoch = 0};
    jwt_t *jwt = verified(key, token);
    if (!jwt)
        return ERR_DENIED;
    bool good = ticket_read(jwt, ticket);
    jwt_free(jwt);
    return good ? OK : ERR_DENIED;
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
    char *nbf_text = jwt_get_grants_json(jwt, "nbf");
    bool has_nbf = nbf_text != NULL;
    free(nbf_text);
    if (has_nbf && (!get_number(jwt, "nbf", 0, &nbf) || nbf - rules->leeway_s > now_s))
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

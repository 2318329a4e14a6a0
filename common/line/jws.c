#include "common/line/jws.h"

#include "common/base/buf.h"
#include "common/line/memory.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#define HEADER_MAX 1024
#define SIGNATURE_MAX 1024 /* RSA of 8,192 bits */
#define ES256_LEN 64       /* r and s */
#define ES256_DER_MAX 72

struct jws {
    struct text header, claims, signed_part;
    unsigned char signature[SIGNATURE_MAX];
    size_t signature_len;
};

static bool jws_split(struct jws *jws, struct text token)
{
    struct text rest = token, signature;
    if (token.len >= TOKEN_MAX || !text_next(&rest, '.', &jws->header) || !text_next(&rest, '.', &jws->claims) ||
        !text_next(&rest, '.', &signature) || rest.at || !jws->header.len || !jws->claims.len || !signature.len)
        return false;
    jws->signed_part = (struct text){token.at, jws->header.len + 1 + jws->claims.len};
    return base64url_decode(jws->signature, sizeof jws->signature, signature, &jws->signature_len) == OK;
}

static json_t *decode_object(struct text part, size_t size)
{
    uint8_t bytes[TOKEN_MAX];
    size_t len;
    if (base64url_decode(bytes, size, part, &len) != OK)
        return NULL;
    json_t *object = json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

/* ---- signature ---- */

/* A number of 32 bytes as DER wants it: as short as can be, and not negative. */
static size_t der_number(unsigned char *dst, const unsigned char *number)
{
    size_t skip = 0;
    while (skip < ES256_LEN / 2 - 1 && number[skip] == 0)
        skip++;
    size_t digits = ES256_LEN / 2 - skip, pad = number[skip] >> 7;
    dst[0] = 0x02;
    dst[1] = (unsigned char)(digits + pad);
    dst[2] = 0;
    memcpy(dst + 2 + pad, number + skip, digits);
    return 2 + pad + digits;
}

static size_t der_signature(unsigned char dst[ES256_DER_MAX], const unsigned char raw[ES256_LEN])
{
    size_t len = 2;
    len += der_number(dst + len, raw);
    len += der_number(dst + len, raw + ES256_LEN / 2);
    dst[0] = 0x30;
    dst[1] = (unsigned char)(len - 2);
    return len;
}

static bool public_holds(const struct token_key *key, struct text text, const unsigned char *signature, size_t len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool holds = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) == 1 &&
                 EVP_DigestVerify(ctx, signature, len, (const unsigned char *)text.at, text.len) == 1;
    EVP_MD_CTX_free(ctx);
    if (!holds)
        ERR_clear_error(); /* TLS looks into the same queue */
    return holds;
}

static bool signature_holds(const struct jws *jws, const struct token_key *key)
{
    unsigned char room[KEY_MAC_LEN > ES256_DER_MAX ? KEY_MAC_LEN : ES256_DER_MAX];
    switch (key->alg) {
    case TOKEN_HS256:
        return token_key_mac(key, jws->signed_part, room) &&
               text_equal_secret((struct text){(const char *)room, KEY_MAC_LEN},
                                 (struct text){(const char *)jws->signature, jws->signature_len});
    case TOKEN_ES256:
        return jws->signature_len == ES256_LEN &&
               public_holds(key, jws->signed_part, room, der_signature(room, jws->signature));
    case TOKEN_RS256:
        return public_holds(key, jws->signed_part, jws->signature, jws->signature_len);
    }
    return false;
}

/* ---- header ---- */

/* The header as it was sent: what it may say, and for which keys. */
struct header {
    const char *alg, *kid; /* kid NULL: absent */
};

static bool header_read(const json_t *object, enum jws_kind kind, struct header *header)
{
    const json_t *type = json_object_get(object, "typ"), *kid = json_object_get(object, "kid");
    header->alg = json_string_value(json_object_get(object, "alg"));
    header->kid = json_string_value(kid);
    if (!header->alg || json_object_get(object, "crit") || (kid && !header->kid))
        return false;
    if (kind == JWS_OURS)
        return header->kid && json_is_string(type) && strcmp(json_string_value(type), "JWT") == 0;
    return !type || (json_is_string(type) && text_equal_nocase(text_of(json_string_value(type)), TEXT("JWT")));
}

static bool key_fits(const struct token_key *key, const struct header *header)
{
    return strcmp(header->alg, token_alg_name(key->alg)) == 0 &&
           (!header->kid || !key->named || strcmp(header->kid, key->id) == 0);
}

static bool signed_by_any(const struct jws *jws, const struct keyring *ring, const struct header *header)
{
    for (size_t i = 0; i < ring->count; i++)
        if (key_fits(ring->keys[i], header) && signature_holds(jws, ring->keys[i]))
            return true;
    return false;
}

static json_t *open_signed(const struct keyring *ring, enum jws_kind kind, struct text token)
{
    struct jws jws;
    struct header header;
    if (!jws_split(&jws, token))
        return NULL;
    json_t *object = decode_object(jws.header, HEADER_MAX);
    bool good = object && header_read(object, kind, &header) && signed_by_any(&jws, ring, &header);
    json_decref(object);
    return good ? decode_object(jws.claims, TOKEN_MAX) : NULL;
}

/* What was read while memory was REFUSED may lack a byte. */
static enum err settle(json_t **claims, size_t refused, enum err otherwise)
{
    if (memory_refused() == refused)
        return *claims ? OK : otherwise;
    json_decref(*claims);
    *claims = NULL;
    return ERR_NOMEM;
}

enum err jws_open(const struct keyring *ring, enum jws_kind kind, struct text token, json_t **claims)
{
    size_t refused = memory_refused();
    *claims = open_signed(ring, kind, token);
    return settle(claims, refused, ERR_DENIED);
}

enum err jws_peek(struct text token, json_t **claims)
{
    size_t refused = memory_refused();
    struct text rest = token, part;
    bool split = text_next(&rest, '.', &part) && text_next(&rest, '.', &part);
    *claims = split ? decode_object(part, TOKEN_MAX) : NULL;
    return settle(claims, refused, ERR_INVALID);
}

/* ---- signing ---- */

/* DER's two numbers as 32 bytes each: what a signature of ES256 is. */
static bool raw_signature(unsigned char *signature, size_t *len)
{
    const size_t half = ES256_LEN / 2;
    unsigned char raw[ES256_LEN] = {0};
    const unsigned char *at = signature + 2, *end = signature + *len;
    for (size_t i = 1; i <= 2; i++) {
        if (end - at < 2 || at[0] != 0x02 || end - at - 2 < at[1])
            return false;
        size_t digits = at[1];
        const unsigned char *next = at + 2 + digits;
        for (at += 2; digits > half && *at == 0; at++)
            digits--;
        if (digits > half)
            return false;
        memcpy(raw + i * half - digits, at, digits);
        at = next;
    }
    memcpy(signature, raw, sizeof raw);
    *len = sizeof raw;
    return true;
}

static bool private_signs(const struct token_key *key, struct text text, unsigned char *signature, size_t *len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool done = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) == 1 &&
                EVP_DigestSign(ctx, signature, len, (const unsigned char *)text.at, text.len) == 1;
    EVP_MD_CTX_free(ctx);
    if (!done)
        ERR_clear_error();
    return done && (key->alg != TOKEN_ES256 || raw_signature(signature, len));
}

/* LEN: the room, then what was written. */
static enum err sign(const struct token_key *key, struct text text, unsigned char *signature, size_t *len)
{
    size_t refused = memory_refused();
    if (key->alg == TOKEN_HS256) {
        *len = KEY_MAC_LEN;
        return token_key_mac(key, text, signature) ? OK : ERR_NOMEM;
    }
    if (private_signs(key, text, signature, len))
        return OK;
    return memory_refused() == refused ? ERR_IO : ERR_NOMEM;
}

enum err jws_seal(const struct token_key *key, struct text header, struct text claims, char *dst, size_t size)
{
    unsigned char signature[SIGNATURE_MAX];
    size_t len = sizeof signature, signed_len = header.len + 1 + BASE64URL_LEN(claims.len);
    if (signed_len >= size)
        return ERR_TOO_BIG;
    memcpy(dst, header.at, header.len);
    dst[header.len] = '.';
    base64url_encode(dst + header.len + 1, claims.at, claims.len);
    enum err err = sign(key, (struct text){dst, signed_len}, signature, &len);
    if (err != OK)
        return err;
    if (signed_len + 1 + BASE64URL_LEN(len) >= size)
        return ERR_TOO_BIG;
    dst[signed_len] = '.';
    base64url_encode(dst + signed_len + 1, signature, len);
    dst[signed_len + 1 + BASE64URL_LEN(len)] = '\0';
    return OK;
}

enum err jws_sign(const struct token_key *key, struct text claims, char *dst, size_t size)
{
    char encoded[BASE64URL_LEN(HEADER_MAX)];
    struct buf header;
    buf_init(&header, HEADER_MAX);
    enum err err = buf_format(&header, "{\"alg\":\"%s\",\"kid\":\"", token_alg_name(key->alg));
    if (err == OK)
        err = buf_json(&header, text_of(key->id));
    if (err == OK)
        err = buf_text(&header, TEXT("\",\"typ\":\"JWT\"}"));
    if (err == OK) {
        base64url_encode(encoded, header.data, header.len);
        err = jws_seal(key, (struct text){encoded, BASE64URL_LEN(header.len)}, claims, dst, size);
    }
    buf_finish(&header);
    return err;
}

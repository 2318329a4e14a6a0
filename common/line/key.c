#include "common/line/key.h"

#include "common/base/check.h"
#include "common/line/memory.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define PKEY_BYTES_MAX 4096 /* of a signature */

static const struct {
    const char *name;
    enum token_alg alg;
} algs[] = {{"HS256", TOKEN_HS256}, {"ES256", TOKEN_ES256}, {"RS256", TOKEN_RS256}};

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

const char *token_alg_name(enum token_alg alg)
{
    return algs[alg].name;
}

/* OpenSSL would ask the terminal otherwise. */
static int no_passphrase(char *buf, int size, int writing, void *data)
{
    (void)buf, (void)size, (void)writing, (void)data;
    return -1;
}

/* ---- files ---- */

enum err key_file_read(struct buf *buf, const char *file, const char **reason)
{
    buf_init(buf, KEY_FILE_MAX + 1);
    *reason = "cannot be read";
    FILE *stream = fopen(file, "rb");
    if (!stream)
        return errno == ENOENT ? ERR_MISSING : ERR_IO;
    enum err err = buf_reserve(buf, KEY_FILE_MAX + 1);
    if (err == OK) {
        buf->len = fread(buf->data, 1, KEY_FILE_MAX + 1, stream);
        err = ferror(stream) ? ERR_IO : buf->len > KEY_FILE_MAX ? ERR_TOO_BIG : buf->len == 0 ? ERR_MISSING : OK;
    }
    fclose(stream);
    if (err == ERR_TOO_BIG)
        *reason = "is larger than 64 KiB";
    else if (err == ERR_MISSING)
        *reason = "is empty";
    return err;
}

void key_file_forget(struct buf *buf)
{
    if (buf->data)
        OPENSSL_cleanse(buf->data, buf->cap);
    buf_finish(buf);
}

/* ---- making ---- */

/* The PEM's key, whole (signing) or public. */
static EVP_PKEY *pem_key(const struct token_key *key, bool signing)
{
    BIO *bio = BIO_new_mem_buf(key->bytes, key->len);
    if (!bio)
        return NULL;
    EVP_PKEY *pkey =
        signing ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    BIO_free(bio);
    return pkey;
}

static bool pkey_fits(const EVP_PKEY *pkey, enum token_alg alg)
{
    char group[32] = "";
    if (alg == TOKEN_RS256)
        return EVP_PKEY_base_id(pkey) == EVP_PKEY_RSA && EVP_PKEY_bits(pkey) >= 2048;
    return EVP_PKEY_base_id(pkey) == EVP_PKEY_EC && EVP_PKEY_get_group_name(pkey, group, sizeof group, NULL) == 1 &&
           strcmp(group, "prime256v1") == 0;
}

/* Fingerprint and id of a key whose PKEY is set. */
static enum err settle_public(struct token_key *key, const char **reason)
{
    unsigned char *der = NULL;
    int len = pkey_fits(key->pkey, key->alg) ? i2d_PUBKEY(key->pkey, &der) : 0;
    bool done = len > 0 && EVP_Digest(der, (size_t)len, key->fingerprint, NULL, EVP_sha256(), NULL);
    OPENSSL_free(der);
    *reason = "its key does not fit the algorithm (ES256: P-256, RS256: RSA of 2048 bits or more)";
    return done ? OK : ERR_INVALID;
}

static enum err settle_secret(struct token_key *key, const char **reason)
{
    *reason = "an HS256 key needs at least 32 bytes";
    if (key->len < KEY_SECRET_MIN)
        return ERR_RANGE;
    /* Whoever knows the public key could sign with it. */
    *reason = "is a PEM, and an HS256 key is a secret";
    if (text_starts((struct text){(const char *)key->bytes, (size_t)key->len}, "-----BEGIN "))
        return ERR_INVALID;
    return EVP_Digest(key->bytes, (size_t)key->len, key->fingerprint, NULL, EVP_sha256(), NULL) ? OK : ERR_NOMEM;
}

/* A hash of the hash: the id is public, a secret's own hash need not be. */
static enum err id_from_hash(struct token_key *key)
{
    unsigned char digest[32];
    if (!EVP_Digest(key->fingerprint, sizeof key->fingerprint, digest, NULL, EVP_sha256(), NULL))
        return ERR_NOMEM;
    hex_encode(key->id, digest, 8);
    return OK;
}

/* OpenSSL makes what an algorithm needs at its first use, and what it has no memory for then is missing for ever: every
 * token would be forged. So the first use is now, whatever comes of it. */
static void use_once(const struct token_key *key, bool signing)
{
    unsigned char room[PKEY_BYTES_MAX] = {0};
    size_t len = sizeof room;
    if (key->alg == TOKEN_HS256) {
        (void)!token_key_mac(key, TEXT("first"), room);
        return;
    }
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (ctx && signing && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) == 1)
        (void)!EVP_DigestSign(ctx, room, &len, room, 1);
    EVP_MD_CTX_free(ctx);
    ctx = EVP_MD_CTX_new();
    if (ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) == 1)
        (void)!EVP_DigestVerify(ctx, room, len, room, 1);
    EVP_MD_CTX_free(ctx);
}

/* What failed since memory was REFUSED was not the key's fault. */
static enum err key_done(struct token_key **out, struct token_key *key, enum err err, bool signing, size_t refused,
                         const char **reason)
{
    if (err == OK)
        err = id_from_hash(key);
    if (err == OK)
        use_once(key, signing);
    ERR_clear_error(); /* TLS looks into the same queue */
    if (memory_refused() != refused) {
        *reason = "there is no memory for it";
        err = ERR_NOMEM;
    }
    if (err != OK) {
        token_key_destroy(key);
        return err;
    }
    *out = key;
    return OK;
}

enum err token_key_of_bytes(struct token_key **out, enum token_alg alg, struct text bytes, bool signing,
                            const char **reason)
{
    struct token_key *key = calloc(1, sizeof *key + bytes.len + 1);
    size_t refused = memory_refused();
    enum err err = OK;
    *reason = "there is no memory for it";
    if (!key)
        return ERR_NOMEM;
    key->alg = alg;
    key->len = (int)bytes.len;
    if (bytes.len)
        memcpy(key->bytes, bytes.at, bytes.len);
    if (alg == TOKEN_HS256) {
        err = settle_secret(key, reason);
    } else if (!(key->pkey = pem_key(key, signing))) {
        *reason = signing ? "no PEM private key in it" : "no PEM public key in it";
        err = ERR_INVALID;
    } else {
        err = settle_public(key, reason);
    }
    return key_done(out, key, err, signing, refused, reason);
}

enum err token_key_of_public(struct token_key **out, enum token_alg alg, EVP_PKEY *pkey, const char **reason)
{
    struct token_key *key = calloc(1, sizeof *key + 1);
    size_t refused = memory_refused();
    if (!key) {
        EVP_PKEY_free(pkey);
        *reason = "there is no memory for it";
        return ERR_NOMEM;
    }
    key->alg = alg;
    key->pkey = pkey;
    return key_done(out, key, settle_public(key, reason), false, refused, reason);
}

enum err token_key_load(struct token_key **out, enum token_alg alg, const char *file, const char *key_id, bool signing,
                        char *why, size_t why_size)
{
    struct buf buf;
    const char *reason;
    enum err err = key_file_read(&buf, file, &reason);
    struct text bytes = buf_view(&buf);
    if (err == OK && alg == TOKEN_HS256 && bytes.at[bytes.len - 1] == '\n')
        bytes.len--;
    if (err == OK)
        err = token_key_of_bytes(out, alg, bytes, signing, &reason);
    key_file_forget(&buf);
    if (err != OK) {
        snprintf(why, why_size, "%s: %s", file, reason);
        return err;
    }
    (*out)->named = true;
    if (key_id && *key_id)
        snprintf((*out)->id, sizeof(*out)->id, "%s", key_id);
    return OK;
}

void token_key_destroy(struct token_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pkey);
    OPENSSL_cleanse(key->bytes, (size_t)key->len);
    free(key);
}

/* ---- using ---- */

const char *token_key_id(const struct token_key *key)
{
    return key->id;
}

bool token_key_same(const struct token_key *a, const struct token_key *b)
{
    return memcmp(a->fingerprint, b->fingerprint, sizeof a->fingerprint) == 0;
}

bool token_key_mac(const struct token_key *key, struct text text, unsigned char out[KEY_MAC_LEN])
{
    unsigned int len = KEY_MAC_LEN;
    CHECK(key->alg == TOKEN_HS256);
    return HMAC(EVP_sha256(), key->bytes, key->len, (const unsigned char *)text.at, text.len, out, &len) &&
           len == KEY_MAC_LEN;
}

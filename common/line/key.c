#include "common/line/key.h"

#include "common/base/buf.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define SECRET_MIN 32
#define KEY_FILE_MAX 65536

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
    EVP_PKEY *pkey =
        signing ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
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
        return key->len >= SECRET_MIN &&
                       EVP_Digest(key->bytes, (size_t)key->len, key->fingerprint, NULL, EVP_sha256(), NULL)
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

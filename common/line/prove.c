#include "common/line/prove.h"

#include "common/line/token.h"

#include <jwt.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <string.h>

static const struct entry_claims sample = {{"prove", 5}, {"prove", 5}, {"nobody", 6}, {"abcdefghijklmnopqrstuv", 22}, 1,
                                           1000000000,   1000000060};

static bool says_what_was_signed(jwt_t *jwt)
{
    const char *place = jwt_get_grant(jwt, "jti"), *session = jwt_get_grant(jwt, "aud");
    return place && text_is(sample.place, place) && session && text_is(sample.session, session) &&
           jwt_get_grant_int(jwt, "exp") == (long)sample.expires_s;
}

static enum err read_by_libjwt(const char *token, const unsigned char *bytes, int len)
{
    jwt_t *jwt = NULL;
    enum err err = jwt_decode(&jwt, token, bytes, len) == 0 && jwt && says_what_was_signed(jwt) ? OK : ERR_DENIED;
    jwt_free(jwt);
    return err;
}

/* With the PEM of the public half. */
static enum err read_with_public(const struct token_key *key, const char *token)
{
    const unsigned char *pem = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    enum err err = ERR_NOMEM;
    if (bio && PEM_write_bio_PUBKEY(bio, key->pkey) == 1) {
        long len = BIO_get_mem_data(bio, (char **)&pem);
        err = read_by_libjwt(token, pem, (int)len);
    }
    BIO_free(bio);
    return err;
}

enum err token_key_prove(const struct token_key *key)
{
    char token[TOKEN_MAX];
    enum err err = token_sign_entry(key, &sample, token, sizeof token);
    if (err != OK)
        return err;
    return key->alg == TOKEN_HS256 ? read_by_libjwt(token, key->bytes, key->len) : read_with_public(key, token);
}

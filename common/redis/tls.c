#include "common/redis/tls.h"

#include "common/base/check.h"

#include <arpa/inet.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct redis_tls {
    SSL *ssl;
    BIO *from_wire, *to_wire; /* owned by ssl */
};

static bool is_address(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool expect_host(SSL *ssl, const char *host)
{
    if (is_address(host))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bool load_trust(SSL_CTX *context, const char *ca_file)
{
    if (ca_file[0])
        return SSL_CTX_load_verify_locations(context, ca_file, NULL) == 1;
    return SSL_CTX_set_default_verify_paths(context) == 1;
}

static SSL *ssl_create(const char *host, const char *ca_file, char *why, size_t why_size)
{
    SSL *ssl = NULL;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        snprintf(why, why_size, "TLS: out of memory");
        goto out;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (!load_trust(context, ca_file)) {
        snprintf(why, why_size, "TLS: no certificates could be read from %s", ca_file[0] ? ca_file : "the system");
        goto out;
    }
    ssl = SSL_new(context);
    if (!ssl || !expect_host(ssl, host)) {
        snprintf(why, why_size, "TLS: %s cannot be verified as a host name", host);
        SSL_free(ssl);
        ssl = NULL;
    }
out:
    SSL_CTX_free(context); /* ssl keeps its own reference */
    ERR_clear_error();
    return ssl;
}

enum err redis_tls_create(struct redis_tls **out, const char *host, const char *ca_file, char *why, size_t why_size)
{
    struct redis_tls *tls = calloc(1, sizeof *tls);
    if (!tls) {
        snprintf(why, why_size, "TLS: out of memory");
        return ERR_NOMEM;
    }
    tls->ssl = ssl_create(host, ca_file, why, why_size);
    if (!tls->ssl)
        goto free_tls;
    tls->from_wire = BIO_new(BIO_s_mem());
    tls->to_wire = BIO_new(BIO_s_mem());
    if (!tls->from_wire || !tls->to_wire)
        goto free_bios;
    SSL_set_bio(tls->ssl, tls->from_wire, tls->to_wire);
    SSL_set_connect_state(tls->ssl);
    *out = tls;
    return OK;

free_bios:
    snprintf(why, why_size, "TLS: out of memory");
    BIO_free(tls->from_wire);
    BIO_free(tls->to_wire);
    SSL_free(tls->ssl);
free_tls:
    free(tls);
    return ERR_INVALID;
}

void redis_tls_destroy(struct redis_tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    free(tls);
}

enum err redis_tls_handshake(struct redis_tls *tls, bool *done, char *why, size_t why_size)
{
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    *done = result == 1;
    if (result == 1 || SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_READ)
        return OK;
    long verdict = SSL_get_verify_result(tls->ssl);
    if (verdict != X509_V_OK) {
        snprintf(why, why_size, "TLS: certificate refused: %s", X509_verify_cert_error_string(verdict));
    } else {
        const char *reason = ERR_reason_error_string(ERR_peek_error());
        snprintf(why, why_size, "TLS: handshake failed: %s", reason ? reason : "the peer does not speak TLS");
    }
    ERR_clear_error();
    return ERR_DENIED;
}

enum err redis_tls_feed(struct redis_tls *tls, const char *bytes, size_t len)
{
    CHECK(len <= INT_MAX);
    return BIO_write(tls->from_wire, bytes, (int)len) == (int)len ? OK : ERR_NOMEM;
}

enum err redis_tls_read(struct redis_tls *tls, char *dst, size_t size, size_t *len)
{
    ERR_clear_error();
    *len = 0;
    if (SSL_read_ex(tls->ssl, dst, size, len) == 1)
        return OK;
    int error = SSL_get_error(tls->ssl, 0);
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ)
        return OK;
    return error == SSL_ERROR_ZERO_RETURN ? ERR_LOST : ERR_PROTOCOL;
}

enum err redis_tls_write(struct redis_tls *tls, const char *bytes, size_t len)
{
    size_t written = 0;
    ERR_clear_error();
    /* A memory BIO takes everything, and without SSL_MODE_ENABLE_PARTIAL_WRITE it is all or nothing. */
    bool whole = SSL_write_ex(tls->ssl, bytes, len, &written) == 1 && written == len;
    ERR_clear_error();
    return whole ? OK : ERR_PROTOCOL;
}

size_t redis_tls_take(struct redis_tls *tls, char *dst, size_t size)
{
    int taken = BIO_read(tls->to_wire, dst, size > INT_MAX ? INT_MAX : (int)size);
    return taken > 0 ? (size_t)taken : 0;
}

size_t redis_tls_waiting(const struct redis_tls *tls)
{
    return BIO_ctrl_pending(tls->to_wire);
}

/** TLS between two memory buffers: bytes from the wire go in, plain bytes come out, and the other way round. Verifies
 *  the chain and that the certificate is for the host. TLS 1.2 and up. Knows nothing of sockets. */
#ifndef ANTEROOM_REDIS_TLS_H
#define ANTEROOM_REDIS_TLS_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct redis_tls;

/** HOST is a name (also sent as SNI) or an address. CA_FILE "" means the system's certificates. ERR_NOMEM, ERR_INVALID
 *  (the file, the host); redis_tls_why cannot be asked then, so WHY gets one sentence. */
MUST_CHECK enum err redis_tls_create(struct redis_tls **out, const char *host, const char *ca_file, char *why,
                                     size_t why_size);
void redis_tls_destroy(struct redis_tls *tls);

/** Moves the handshake on. ERR_DENIED: the certificate or the peer refused; WHY says so. OK: *DONE tells. */
MUST_CHECK enum err redis_tls_handshake(struct redis_tls *tls, bool *done, char *why, size_t why_size);

/** Ciphertext from the wire. ERR_NOMEM. */
MUST_CHECK enum err redis_tls_feed(struct redis_tls *tls, const char *bytes, size_t len);
/** Plain bytes into DST; *LEN 0 when there are none yet. ERR_LOST: the peer ended the session. ERR_PROTOCOL. */
MUST_CHECK enum err redis_tls_read(struct redis_tls *tls, char *dst, size_t size, size_t *len);
/** Plain bytes to be sent, all of them. ERR_PROTOCOL. */
MUST_CHECK enum err redis_tls_write(struct redis_tls *tls, const char *bytes, size_t len);
/** Ciphertext waiting for the wire; taken into DST, which holds SIZE. The number of bytes, 0 when none wait. */
size_t redis_tls_take(struct redis_tls *tls, char *dst, size_t size);
size_t redis_tls_waiting(const struct redis_tls *tls);

#endif

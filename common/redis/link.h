/** A stream of bytes to Redis, one per attempt to connect: resolves the name, tries every address in turn, speaks TLS
 *  where asked. TCP, unix socket and TLS look the same from above. Knows nothing of the protocol. */
#ifndef ANTEROOM_REDIS_LINK_H
#define ANTEROOM_REDIS_LINK_H

#include "common/base/err.h"
#include "common/redis/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct uv_loop_s uv_loop_t;
struct redis_link;

/** All from the loop; none after redis_link_close, which every one of them may call. */
struct redis_link_hooks {
    void (*on_open)(void *data);
    void (*on_bytes)(void *data, const char *bytes, size_t len);
    /** Writable again. */
    void (*on_drain)(void *data);
    /** At most once: could not be opened, or was lost. The owner closes. WHY is borrowed. */
    void (*on_fail)(void *data, const char *why);
};

/** URL and HOOKS must live until closed. Each address gets its share of TIMEOUT_MS; the whole is the owner's to watch.
 *  ERR_NOMEM, ERR_IO. */
MUST_CHECK enum err redis_link_open(struct redis_link **out, uv_loop_t *loop, const struct redis_url *url,
                                    uint32_t timeout_ms, const struct redis_link_hooks *hooks, void *data);
/** Open, and everything sent so far has reached the kernel. */
bool redis_link_writable(const struct redis_link *link);
/** Only while writable. BYTES are copied where the kernel does not take them at once. ERR_NOMEM, ERR_IO: close it. */
MUST_CHECK enum err redis_link_send(struct redis_link *link, const char *bytes, size_t len);
/** CLOSED is called from the loop once nothing of libuv's is left; the link is then freed. */
void redis_link_close(struct redis_link *link, void (*closed)(void *data));

#endif

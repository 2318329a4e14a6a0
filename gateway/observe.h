/** Hooks of the libraries that feed metrics and the access log. */
#ifndef ANTEROOM_GATEWAY_OBSERVE_H
#define ANTEROOM_GATEWAY_OBSERVE_H

#include "common/http/server.h"

/** http_settings.on_done; CONTEXT is the gateway. */
void observe_request(void *context, const struct http_done *done);
/** redis_hooks.on_done; DATA is the gateway. */
void observe_redis(void *data, const char *command, enum err err, uint64_t duration_ns);

#endif

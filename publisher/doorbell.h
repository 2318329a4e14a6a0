/** The subscriber connection: joins that found an empty line ring, and the session ticks within milliseconds. */
#ifndef ANTEROOM_PUBLISHER_DOORBELL_H
#define ANTEROOM_PUBLISHER_DOORBELL_H

#include "common/redis/redis.h"

struct publisher;

struct doorbell {
    struct publisher *publisher;
    struct redis *redis;
};

/** ERR_NOMEM, ERR_IO. */
MUST_CHECK enum err doorbell_open(struct doorbell *doorbell, struct publisher *publisher, const struct redis_url *url);
/** Harmless when it is not open. */
void doorbell_close(struct doorbell *doorbell);

#endif

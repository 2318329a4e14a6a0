/** Where Redis is, from a daemon's settings: the URL with the password and the CA that come from files. */
#ifndef ANTEROOM_REDIS_TARGET_H
#define ANTEROOM_REDIS_TARGET_H

#include "common/base/setting.h"
#include "common/redis/url.h"

#include <stddef.h>

/** ERR_INVALID, ERR_IO; WHY then holds one sentence without the password. */
MUST_CHECK enum err redis_target(const struct setting *setting, struct redis_url *url, char *why, size_t size);

#endif

/** What comes from files and is read again on SIGHUP, all or nothing: the signing key and the admin tokens. */
#ifndef ANTEROOM_PUBLISHER_KEYS_H
#define ANTEROOM_PUBLISHER_KEYS_H

#include "common/line/token.h"
#include "publisher/actor.h"
#include "publisher/options.h"

struct keys {
    struct token_key *entry;
    struct actors *actors;
};

/** On failure KEYS is as it was and WHY holds one sentence without a secret; else what it held is freed. */
MUST_CHECK enum err keys_load(struct keys *keys, const struct publisher_options *options, char *why, size_t why_size);
void keys_finish(struct keys *keys);

#endif

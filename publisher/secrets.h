/** What comes from files and is read again on SIGHUP, all or nothing: the signing key and the admin tokens. */
#ifndef ANTEROOM_PUBLISHER_SECRETS_H
#define ANTEROOM_PUBLISHER_SECRETS_H

#include "common/line/token.h"
#include "publisher/actor.h"
#include "publisher/options.h"

struct secrets {
    struct keyring entries;  /* the second will sign when it takes the first's place, and is only checked until then */
    struct token_key *entry; /* the first of them: signs */
    struct actors *actors;
};

/** On failure SECRETS are as they were and WHY holds one sentence without a secret; else what they held is freed. */
MUST_CHECK enum err secrets_load(struct secrets *secrets, const struct publisher_options *options, char *why,
                                 size_t why_size);
void secrets_finish(struct secrets *secrets);

#endif

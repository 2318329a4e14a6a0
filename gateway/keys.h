/** The gateway's keys, read at the start and again on SIGHUP, all or nothing. */
#ifndef ANTEROOM_GATEWAY_KEYS_H
#define ANTEROOM_GATEWAY_KEYS_H

#include "common/line/token.h"
#include "gateway/options.h"

struct keys {
    struct token_key *ticket;
    struct keyring entry; /* the publisher's, and the one it will sign with next */
    struct keyring user;  /* empty: USER_AUTH is none */
};

/** On failure KEYS is as it was and WHY holds one sentence without a secret. Equal ticket, entry and user keys are
 * refused: one kind of token could pass for another then. */
MUST_CHECK enum err keys_load(struct keys *keys, const struct gateway_options *options, char *why, size_t size);
/** A line with the ids of the entry keys. */
void keys_log(const struct keys *keys, const char *server);
void keys_finish(struct keys *keys);
struct user_rules keys_user_rules(const struct gateway_options *options);

#endif

#include "gateway/keys.h"

#include "common/base/check.h"
#include "common/base/log.h"

#include <stdio.h>

/* Whether two kinds of tokens share a key. The two entry keys differ already, and a site may list a key twice. */
static bool any_shared(const struct keys *keys)
{
    bool shared = keyring_has(&keys->entry, keys->ticket) || keyring_has(&keys->user, keys->ticket);
    for (size_t i = 0; i < keys->entry.count; i++)
        shared = shared || keyring_has(&keys->user, keys->entry.keys[i]);
    return shared;
}

enum err keys_load(struct keys *keys, const struct gateway_options *options, char *why, size_t size)
{
    const struct setting *common = &options->common;
    struct keys fresh = {.ticket = NULL};
    enum token_alg entry_alg, user_alg;
    bool jwt = strcmp(options->user_auth, "jwt") == 0;
    CHECK(token_alg_parse(text_of(common->entry_alg), &entry_alg) == OK);
    CHECK(token_alg_parse(text_of(options->user_alg), &user_alg) == OK);
    if (jwt && (!options->user_key_file[0] || !options->user_audience[0])) {
        snprintf(why, size, "--user-auth=jwt needs --user-key-file and --user-audience (any: not checked)");
        return ERR_MISSING;
    }
    enum err err = token_key_load(&fresh.ticket, TOKEN_HS256, options->ticket_key_file, NULL, true, why, size);
    if (err == OK)
        err = keyring_load_pair(&fresh.entry, entry_alg, common->entry_key_file, common->entry_key_id,
                                common->entry_key_file_next, false, why, size);
    if (err == OK && jwt)
        err = keyring_load_site(&fresh.user, user_alg, options->user_key_file, why, size);
    if (err == OK && any_shared(&fresh)) {
        snprintf(why, size, "ticket, entry and user keys must differ from each other");
        err = ERR_INVALID;
    }
    if (err != OK) {
        keys_finish(&fresh);
        return err;
    }
    keys_finish(keys);
    *keys = fresh;
    return OK;
}

void keys_log(const struct keys *keys, const char *server)
{
    const struct keyring *entry = &keys->entry;
    log_event(LOG_INFO, "keys-read", LOG_S("server", server), LOG_S("kid", token_key_id(entry->keys[0])),
              LOG_S("kid_next", entry->count > 1 ? token_key_id(entry->keys[1]) : NULL),
              LOG_I("user_keys", keys->user.count));
}

void keys_finish(struct keys *keys)
{
    token_key_destroy(keys->ticket);
    keyring_finish(&keys->entry);
    keyring_finish(&keys->user);
    *keys = (struct keys){.ticket = NULL};
}

struct user_rules keys_user_rules(const struct gateway_options *options)
{
    return (struct user_rules){
        .issuer = options->user_issuer,
        .audience = strcmp(options->user_audience, "any") == 0 ? "" : options->user_audience,
        .claim = options->user_claim,
        .leeway_s = options->user_leeway_s,
    };
}

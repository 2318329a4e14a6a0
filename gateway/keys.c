#include "gateway/keys.h"

#include "common/base/check.h"

#include <stdio.h>

static bool any_two_same(const struct token_key *ticket, const struct token_key *entry, const struct token_key *user)
{
    return token_key_same(ticket, entry) || (user && (token_key_same(user, entry) || token_key_same(user, ticket)));
}

enum err keys_load(struct keys *keys, const struct gateway_options *options, char *why, size_t size)
{
    struct keys fresh = {.ticket = NULL};
    struct token_key *entry = NULL; /* checked here, used by verify and redeem when they come */
    enum token_alg entry_alg, user_alg;
    bool jwt = strcmp(options->user_auth, "jwt") == 0;
    CHECK(token_alg_parse(text_of(options->common.entry_alg), &entry_alg) == OK);
    CHECK(token_alg_parse(text_of(options->user_alg), &user_alg) == OK);
    if (jwt && (!options->user_key_file[0] || !options->user_audience[0])) {
        snprintf(why, size, "--user-auth=jwt needs --user-key-file and --user-audience (any: not checked)");
        return ERR_MISSING;
    }
    enum err err = token_key_load(&fresh.ticket, TOKEN_HS256, options->ticket_key_file, NULL, true, why, size);
    if (err == OK)
        err = token_key_load(&entry, entry_alg, options->common.entry_key_file, options->common.entry_key_id, false,
                             why, size);
    if (err == OK && jwt)
        err = token_key_load(&fresh.user, user_alg, options->user_key_file, NULL, false, why, size);
    if (err == OK && any_two_same(fresh.ticket, entry, fresh.user)) {
        snprintf(why, size, "ticket, entry and user keys must differ from each other");
        err = ERR_INVALID;
    }
    token_key_destroy(entry);
    if (err != OK) {
        keys_finish(&fresh);
        return err;
    }
    keys_finish(keys);
    *keys = fresh;
    return OK;
}

void keys_finish(struct keys *keys)
{
    token_key_destroy(keys->ticket);
    token_key_destroy(keys->user);
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

#include "publisher/secrets.h"

#include <stdlib.h>

enum err secrets_load(struct secrets *secrets, const struct publisher_options *options, char *why, size_t why_size)
{
    const struct setting *common = &options->common;
    struct secrets fresh = {.actors = calloc(1, sizeof *fresh.actors)};
    enum token_alg alg = TOKEN_HS256;
    snprintf(why, why_size, "out of memory");
    enum err err = fresh.actors ? token_alg_parse(text_of(common->entry_alg), &alg) : ERR_NOMEM;
    if (err == OK)
        err = keyring_load_pair(&fresh.entries, alg, common->entry_key_file, common->entry_key_id,
                                common->entry_key_file_next, true, why, why_size);
    if (err == OK)
        err = actors_load(fresh.actors, options->admin_token_file, why, why_size);
    if (err != OK) {
        secrets_finish(&fresh);
        return err;
    }
    fresh.entry = fresh.entries.keys[0];
    secrets_finish(secrets);
    *secrets = fresh;
    return OK;
}

void secrets_finish(struct secrets *secrets)
{
    keyring_finish(&secrets->entries);
    if (secrets->actors)
        explicit_bzero(secrets->actors, sizeof *secrets->actors);
    free(secrets->actors);
    *secrets = (struct secrets){.actors = NULL};
}

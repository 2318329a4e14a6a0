#include "publisher/keys.h"

#include <stdlib.h>

enum err keys_load(struct keys *keys, const struct publisher_options *options, char *why, size_t why_size)
{
    const struct setting *common = &options->common;
    struct keys fresh = {.actors = calloc(1, sizeof *fresh.actors)};
    enum token_alg alg = TOKEN_HS256;
    snprintf(why, why_size, "out of memory");
    enum err err = fresh.actors ? token_alg_parse(text_of(common->entry_alg), &alg) : ERR_NOMEM;
    if (err == OK)
        err = token_key_load(&fresh.entry, alg, common->entry_key_file, common->entry_key_id, true, why, why_size);
    if (err == OK)
        err = actors_load(fresh.actors, options->admin_token_file, why, why_size);
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
    token_key_destroy(keys->entry);
    if (keys->actors)
        explicit_bzero(keys->actors, sizeof *keys->actors);
    free(keys->actors);
    *keys = (struct keys){.entry = NULL};
}

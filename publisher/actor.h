/** Who may use the admin API, from the token file: "NAME TOKEN [read]" a line; a lone token is named admin; blank lines
 * and those beginning with '#' are skipped. Pure but for the file. */
#ifndef ANTEROOM_PUBLISHER_ACTOR_H
#define ANTEROOM_PUBLISHER_ACTOR_H

#include "common/base/err.h"
#include "common/base/text.h"

#define ACTORS_MAX 64
#define ACTOR_NAME_MAX 64
#define ACTOR_TOKEN_MIN 20
#define ACTOR_TOKEN_MAX 256

struct actors {
    size_t count;
    struct actor {
        char name[ACTOR_NAME_MAX + 1], token[ACTOR_TOKEN_MAX + 1];
        bool read_only;
    } items[ACTORS_MAX];
};

/** ERR_INVALID with one sentence in WHY that names the line and never a token. */
MUST_CHECK enum err actors_parse(struct actors *actors, struct text file, char *why, size_t why_size);
/** Also ERR_IO, ERR_TOO_BIG. */
MUST_CHECK enum err actors_load(struct actors *actors, const char *path, char *why, size_t why_size);
/** The one with this token, compared with all of them in constant time; NULL for none. */
const struct actor *actors_find(const struct actors *actors, struct text token);
/** The token of an Authorization header; {NULL, 0} unless it is a Bearer one. */
struct text bearer_token(struct text header);

#endif

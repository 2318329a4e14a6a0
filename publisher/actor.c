#include "publisher/actor.h"

#include <errno.h>
#include <stdio.h>

#define FILE_MAX 65536

/* Up to MOST words of LINE; how many there are, or MOST + 1. */
static size_t split(struct text line, struct text *words, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < line.len;) {
        size_t start = i;
        while (i < line.len && line.at[i] != ' ' && line.at[i] != '\t')
            i++;
        if (i > start && count++ < most)
            words[count - 1] = (struct text){line.at + start, i - start};
        if (count > most)
            break;
        i += i < line.len;
    }
    return count;
}

static bool visible(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return false;
    return true;
}

static const char *take_line(struct actors *actors, struct text line)
{
    struct text words[3] = {{NULL, 0}}, name = TEXT("admin"), token;
    size_t count = split(line, words, 3);
    token = words[0];
    if (count >= 2) {
        name = words[0];
        token = words[1];
    }
    if (count > 3 || (count == 3 && !text_is(words[2], "read")))
        return "must be NAME TOKEN [read]";
    if (token.len < ACTOR_TOKEN_MIN || token.len > ACTOR_TOKEN_MAX)
        return "has a token that is not of 20 to 256 characters";
    if (name.len > ACTOR_NAME_MAX || !visible(name) || !visible(token))
        return "has a name or token with characters that are not visible ASCII, or too many";
    if (actors->count == ACTORS_MAX)
        return "is one too many: 64 tokens at most";
    if (actors_find(actors, token))
        return "repeats a token";
    struct actor *actor = &actors->items[actors->count++];
    actor->read_only = count == 3;
    return text_copy(actor->name, sizeof actor->name, name) == OK &&
                   text_copy(actor->token, sizeof actor->token, token) == OK
               ? NULL
               : "is too long";
}

enum err actors_parse(struct actors *actors, struct text file, char *why, size_t why_size)
{
    struct text line;
    *actors = (struct actors){.count = 0};
    for (size_t number = 1; text_next(&file, '\n', &line); number++) {
        if (line.len > 0 && line.at[line.len - 1] == '\r')
            line.len--;
        line = text_trim(line);
        const char *wrong = line.len == 0 || line.at[0] == '#' ? NULL : take_line(actors, line);
        if (wrong) {
            snprintf(why, why_size, "line %zu %s", number, wrong);
            return ERR_INVALID;
        }
    }
    if (actors->count > 0)
        return OK;
    snprintf(why, why_size, "holds no token");
    return ERR_INVALID;
}

enum err actors_load(struct actors *actors, const char *path, char *why, size_t why_size)
{
    char bytes[FILE_MAX], reason[160];
    FILE *file = fopen(path, "rb");
    if (!file) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return ERR_IO;
    }
    size_t len = fread(bytes, 1, sizeof bytes, file);
    enum err err = ferror(file) ? ERR_IO : len == sizeof bytes ? ERR_TOO_BIG : OK;
    fclose(file);
    if (err == OK)
        err = actors_parse(actors, (struct text){bytes, len}, reason, sizeof reason);
    else
        snprintf(reason, sizeof reason, "%s", err_text(err));
    explicit_bzero(bytes, sizeof bytes);
    if (err != OK)
        snprintf(why, why_size, "%s: %s", path, reason);
    return err;
}

const struct actor *actors_find(const struct actors *actors, struct text token)
{
    const struct actor *found = NULL;
    for (size_t i = 0; i < actors->count; i++) /* no early end: the time tells nothing */
        if (text_equal_secret(text_of(actors->items[i].token), token))
            found = &actors->items[i];
    return found;
}

struct text bearer_token(struct text header)
{
    struct text scheme;
    if (!text_next(&header, ' ', &scheme) || !header.at || !text_equal_nocase(scheme, TEXT("bearer")))
        return (struct text){NULL, 0};
    return text_trim(header);
}

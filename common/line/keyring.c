#include "common/line/keyring.h"

#include "common/line/jwk.h"
#include "common/line/memory.h"

#include <stdio.h>

enum err keyring_add(struct keyring *ring, struct token_key *key)
{
    if (ring->count == KEYRING_MAX) {
        token_key_destroy(key);
        return ERR_TOO_BIG;
    }
    ring->keys[ring->count++] = key;
    return OK;
}

void keyring_finish(struct keyring *ring)
{
    for (size_t i = 0; i < ring->count; i++)
        token_key_destroy(ring->keys[i]);
    *ring = (struct keyring){.count = 0};
}

bool keyring_has(const struct keyring *ring, const struct token_key *key)
{
    for (size_t i = 0; i < ring->count; i++)
        if (token_key_same(ring->keys[i], key))
            return true;
    return false;
}

enum err keyring_write(const struct keyring *ring, struct buf *out)
{
    enum err err = buf_text(out, TEXT("{\"keys\":["));
    for (size_t i = 0, written = 0; err == OK && i < ring->count; i++) {
        if (ring->keys[i]->alg == TOKEN_HS256)
            continue;
        err = written++ ? buf_text(out, TEXT(",")) : OK;
        if (err == OK)
            err = jwk_write(out, ring->keys[i]);
    }
    return err == OK ? buf_text(out, TEXT("]}\n")) : err;
}

/* ---- ours ---- */

static bool is_there(const char *file)
{
    struct buf buf;
    const char *reason;
    bool there = key_file_read(&buf, file, &reason) != ERR_MISSING;
    key_file_forget(&buf);
    return there;
}

enum err keyring_load_pair(struct keyring *ring, enum token_alg alg, const char *file, const char *key_id,
                           const char *next, bool signing, char *why, size_t why_size)
{
    struct token_key *key = NULL;
    *ring = (struct keyring){.count = 0};
    if (next[0] && key_id[0]) {
        snprintf(why, why_size, "--entry-key-id names one key: leave it out where --entry-key-file-next is given");
        return ERR_INVALID;
    }
    enum err err = token_key_load(&key, alg, file, key_id, signing, why, why_size);
    if (err == OK)
        err = keyring_add(ring, key);
    if (err == OK && next[0] && is_there(next)) {
        err = token_key_load(&key, alg, next, NULL, signing, why, why_size);
        if (err == OK && keyring_has(ring, key)) {
            snprintf(why, why_size, "%s: the same key as %s", next, file);
            token_key_destroy(key);
            err = ERR_INVALID;
        } else if (err == OK) {
            err = keyring_add(ring, key);
        }
    }
    if (err != OK)
        keyring_finish(ring);
    return err;
}

/* ---- a site's ---- */

/* Meant as JSON: begins with a brace and is text throughout. Such a file is never taken for a secret. */
static bool looks_like_json(struct text bytes)
{
    size_t start = 0;
    while (start < bytes.len && strchr(" \t\r\n", bytes.at[start]) && bytes.at[start])
        start++;
    if (start == bytes.len || bytes.at[start] != '{')
        return false;
    for (size_t i = start; i < bytes.len; i++)
        if ((unsigned char)bytes.at[i] < ' ' && !strchr("\t\r\n", bytes.at[i]))
            return false;
    return true;
}

static enum err add_jwk(struct keyring *ring, enum token_alg alg, const json_t *jwk, const char **reason)
{
    struct token_key *key = NULL;
    enum err err = jwk_read(&key, alg, jwk, reason);
    if (err != OK)
        return err == ERR_MISSING ? OK : err;
    *reason = "it holds more than 16 keys of the algorithm";
    return keyring_add(ring, key);
}

static enum err add_jwks(struct keyring *ring, enum token_alg alg, struct text bytes, const char **reason)
{
    size_t refused = memory_refused();
    json_t *set = json_loadb(bytes.at, bytes.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *keys = json_object_get(set, "keys");
    enum err err = memory_refused() != refused ? ERR_NOMEM : json_is_array(keys) ? OK : ERR_INVALID;
    *reason = err == ERR_NOMEM ? "there is no memory for it" : "is no JSON object with an array of keys (JWKS)";
    for (size_t i = 0; err == OK && i < json_array_size(keys); i++)
        err = add_jwk(ring, alg, json_array_get(keys, i), reason);
    if (err == OK && ring->count == 0) {
        *reason = "none of its keys is a signature key of the algorithm";
        err = ERR_INVALID;
    }
    json_decref(set);
    return err;
}

static enum err add_single(struct keyring *ring, enum token_alg alg, struct text bytes, const char **reason)
{
    struct token_key *key = NULL;
    if (alg == TOKEN_HS256 && bytes.at[bytes.len - 1] == '\n')
        bytes.len--;
    enum err err = token_key_of_bytes(&key, alg, bytes, false, reason);
    return err == OK ? keyring_add(ring, key) : err;
}

enum err keyring_load_site(struct keyring *ring, enum token_alg alg, const char *file, char *why, size_t why_size)
{
    struct buf buf;
    const char *reason;
    *ring = (struct keyring){.count = 0};
    enum err err = key_file_read(&buf, file, &reason);
    struct text bytes = buf_view(&buf);
    if (err == OK && looks_like_json(bytes))
        err = add_jwks(ring, alg, bytes, &reason);
    else if (err == OK)
        err = add_single(ring, alg, bytes, &reason);
    key_file_forget(&buf);
    if (err == OK)
        return OK;
    snprintf(why, why_size, "%s: %s", file, reason);
    keyring_finish(ring);
    return err;
}

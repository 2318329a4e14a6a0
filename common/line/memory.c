#include "common/line/memory.h"

#include "common/base/check.h"

#include <openssl/crypto.h>
#include <stdlib.h>

static size_t refused;

static void *note(void *block)
{
    refused += !block;
    return block;
}

static void *json_alloc(size_t size)
{
    return note(malloc(size));
}

static void *crypto_alloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return size ? note(malloc(size)) : NULL;
}

static void crypto_free(void *old, const char *file, int line)
{
    (void)file;
    (void)line;
    free(old);
}

static void *crypto_realloc(void *old, size_t size, const char *file, int line)
{
    if (size)
        return note(realloc(old, size));
    crypto_free(old, file, line);
    return NULL;
}

void memory_init(void)
{
    json_set_alloc_funcs(json_alloc, free);
    CHECK(CRYPTO_set_mem_functions(crypto_alloc, crypto_realloc, crypto_free) == 1);
}

size_t memory_refused(void)
{
    return refused;
}

char *memory_dumps(const json_t *json, size_t flags)
{
    size_t before = refused;
    char *text = json_dumps(json, flags);
    if (refused == before)
        return text;
    free(text);
    return NULL;
}

#include "tests/support/nomem.h"

#include <jansson.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

static bool armed, failed;
static size_t left;

static bool fails(void)
{
    if (!armed || failed)
        return false;
    failed = left == 0;
    left -= !failed;
    return failed;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

static void *openssl_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return size ? malloc(size) : NULL;
}

static void *openssl_realloc(void *old, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    if (size)
        return realloc(old, size);
    free(old);
    return NULL;
}

static void openssl_free(void *old, const char *file, int line)
{
    (void)file;
    (void)line;
    free(old);
}

void nomem_init(void)
{
    json_set_alloc_funcs(malloc, free);
    if (CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free) != 1)
        abort();
}

void nomem_arm(size_t n)
{
    left = n;
    failed = false;
    armed = true;
}

bool nomem_disarm(void)
{
    armed = false;
    return failed;
}

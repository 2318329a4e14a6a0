#include "tests/support/nomem.h"

#include "common/line/memory.h"

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

void nomem_init(void)
{
    memory_init();
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

/* Preloaded: memory runs out. The file of NOMEM holds `struct orders`, shared with whoever gives them
 * (tests/integration/nomem.py). While armed, the allocations of the process are counted, and those from FIRST on, MANY
 * of them, fail. FROM tells who asked for the first of them. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#define CALLERS 16

static struct orders {
    volatile int64_t armed, first, many; /* given */
    volatile int64_t seen, failed;       /* what came of them */
    void *from[CALLERS];
} * orders;

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static int (*real_memalign)(void **, size_t, size_t);
static bool resolving, remembering;

/* dlsym allocates a little itself. */
static char early[65536] __attribute__((aligned(16)));
static size_t early_used;

static void *early_alloc(size_t size)
{
    void *block = early + early_used;
    early_used += (size + 15) & ~(size_t)15;
    return early_used <= sizeof early ? block : NULL;
}

static bool is_early(const void *block)
{
    return (const char *)block >= early && (const char *)block < early + sizeof early;
}

static void find(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

/* False: still looking for them. */
static bool resolve(void)
{
    if (real_free || resolving)
        return !resolving;
    resolving = true;
    find(&real_malloc, "malloc");
    find(&real_calloc, "calloc");
    find(&real_realloc, "realloc");
    find(&real_memalign, "posix_memalign");
    find(&real_free, "free");
    resolving = false;
    return true;
}

__attribute__((constructor)) static void open_orders(void)
{
    const char *path = getenv("NOMEM");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (map != MAP_FAILED)
        orders = map;
}

struct walk {
    size_t count;
    uintptr_t from[CALLERS];
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    walk->from[walk->count++] = _Unwind_GetIP(context);
    return walk->count < CALLERS ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void remember(void)
{
    struct walk walk = {0};
    remembering = true; /* walking allocates, too */
    _Unwind_Backtrace(step, &walk);
    remembering = false;
    memcpy(orders->from, walk.from, sizeof walk.from);
}

static bool fails(void)
{
    if (!orders || !orders->armed || remembering)
        return false;
    int64_t at = orders->seen++ - orders->first;
    if (at < 0 || at >= orders->many)
        return false;
    if (orders->failed++ == 0)
        remember();
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    if (!resolve())
        return early_alloc(size);
    return fails() ? NULL : real_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (!resolve())
        return early_alloc(count * size);
    return fails() ? NULL : real_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    if (!resolve())
        return NULL;
    return fails() ? NULL : real_realloc(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    return !resolve() || fails() ? ENOMEM : real_memalign(out, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *block;
    return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

/* As ASan's own would not come by here. */
char *strndup(const char *text, size_t most)
{
    size_t len = strnlen(text, most);
    char *copy = malloc(len + 1);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

char *strdup(const char *text)
{
    return strndup(text, strlen(text));
}

void free(void *block)
{
    if (block && !is_early(block) && resolve())
        real_free(block);
}

/* Drives one target without libFuzzer: each file of a corpus as it is, then mutations of them from a fixed seed.
 *   fuzz/NAME CORPUS [EXECUTIONS [SEED]] */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define FILES_MAX 4096
#define INPUT_MAX 16384

static struct buf files[FILES_MAX];
static size_t file_count;
static uint64_t state;

/* xorshift64* */
static size_t below(size_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (size_t)(state * UINT64_C(2685821657736338717) >> 33) % limit;
}

static void file_load(const char *folder, const char *name)
{
    char path[1024], bytes[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    CHECK(file && file_count < FILES_MAX);
    struct buf *buf = &files[file_count++];
    buf_init(buf, 1 << 20);
    for (size_t len; (len = fread(bytes, 1, sizeof bytes, file)) > 0;)
        CHECK(buf_append(buf, bytes, len) == OK);
    fclose(file);
}

static int wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Sorted: the same run on every file system. */
static void folder_load(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, wanted, alphasort);
    for (int i = 0; i < count; i++) {
        file_load(folder, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static void run(const char *bytes, size_t len)
{
    uint8_t *exact = malloc(len ? len : 1); /* so that ASan sees one byte too far */
    CHECK(exact);
    if (len)
        memcpy(exact, bytes, len);
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
}

static size_t mutate(char *dst, size_t len)
{
    static const char special[] = {0, '\n', '\r', ' ', '"', '\\', ',', ':', '0', '9', '-', '+', '.', '%', (char)0xff};
    const struct buf *other = &files[below(file_count)];
    size_t at = below(len + 1), take = below(len - at + 1);
    switch (below(6)) {
    case 0: /* a bit */
        if (len)
            flip(dst, len, below(len * 8));
        return len;
    case 1: /* a byte with a meaning */
        if (at < len)
            dst[at] = special[below(sizeof special)];
        return len;
    case 2: /* cut out */
        memmove(dst + at, dst + at + take, len - at - take);
        return len - take;
    case 3: /* repeat */
        if (len + take > INPUT_MAX)
            return len;
        memmove(dst + at + take, dst + at, len - at);
        return len + take;
    case 4: /* cut short */
        return at;
    default: /* the end of another */
        take = other->len ? below(other->len) : 0;
        if (other->len - take > INPUT_MAX - at)
            return len;
        if (other->len)
            memcpy(dst + at, other->data + take, other->len - take);
        return at + other->len - take;
    }
}

int main(int argc, char **argv)
{
    static char bytes[INPUT_MAX];
    size_t executions = argc > 2 ? strtoul(argv[2], NULL, 10) : 3000;
    state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    CHECK(argc > 1 && state);
    folder_load(argv[1]);
    CHECK(file_count > 0);
    for (size_t i = 0; i < file_count; i++)
        run(files[i].data, files[i].len);
    for (size_t i = 0; i < executions; i++) {
        const struct buf *from = &files[below(file_count)];
        size_t len = from->len < sizeof bytes ? from->len : sizeof bytes;
        if (len)
            memcpy(bytes, from->data, len);
        for (size_t turns = below(4) + 1; turns > 0; turns--)
            len = mutate(bytes, len);
        run(bytes, len);
    }
    printf("%zu files, %zu mutations\n", file_count, executions);
    for (size_t i = 0; i < file_count; i++)
        buf_finish(&files[i]);
    return 0;
}

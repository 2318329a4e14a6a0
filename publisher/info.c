#include "publisher/info.h"

#define VERSION_MAJOR_LEAST 7

struct text info_field(struct text info, const char *name)
{
    struct text line, key;
    while (text_next(&info, '\n', &line)) {
        if (line.len > 0 && line.at[line.len - 1] == '\r')
            line.len--;
        if (text_next(&line, ':', &key) && line.at && text_is(key, name))
            return line;
    }
    return (struct text){NULL, 0};
}

int64_t info_number(struct text info, const char *name, int64_t fallback)
{
    int64_t value;
    return text_int(info_field(info, name), 0, INT64_MAX, &value) == OK ? value : fallback;
}

bool info_version_fits(struct text server)
{
    struct text version = info_field(server, "redis_version"), major;
    int64_t number;
    if (info_field(server, "valkey_version").at)
        return true;
    return text_next(&version, '.', &major) && text_int(major, 0, 1000000, &number) == OK &&
           number >= VERSION_MAJOR_LEAST;
}

enum info_memory info_memory_policy(struct text memory)
{
    if (text_is(info_field(memory, "maxmemory_policy"), "noeviction"))
        return MEMORY_SAFE;
    return info_number(memory, "maxmemory", 0) > 0 ? MEMORY_EVICTS : MEMORY_MAY_EVICT;
}

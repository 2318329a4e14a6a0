#include "common/base/setting.h"

#include <string.h>

/* A brace in the prefix would become the key's hash tag and move every session to one slot. */
const char *setting_check_prefix(const char *value)
{
    for (const char *p = value; *p; p++)
        if (*p <= ' ' || *p > '~' || *p == '{' || *p == '}')
            return "must be of visible ASCII characters without braces";
    return NULL;
}

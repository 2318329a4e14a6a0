#include "common/http/cookie.h"

struct text cookie_find(struct text header, const char *name)
{
    struct text pair;
    while (text_next(&header, ';', &pair)) {
        struct text key, value = pair;
        if (text_next(&value, '=', &key) && value.at && text_is(text_trim(key), name))
            return text_trim(value);
    }
    return (struct text){NULL, 0};
}

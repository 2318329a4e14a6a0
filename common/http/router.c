#include "common/http/router.h"

#include <stdio.h>

/* Compares segment by segment; fills names and values as it goes. */
static bool pattern_fits(const char *pattern, struct text path, struct route_match *match)
{
    struct text wanted = text_of(pattern), part, given;
    match->param_count = 0;
    while (text_next(&wanted, '/', &part)) {
        if (!text_next(&path, '/', &given))
            return false;
        bool param = part.len > 2 && part.at[0] == '{' && part.at[part.len - 1] == '}';
        if (!param && !text_equal(part, given))
            return false;
        if (!param)
            continue;
        if (given.len == 0 || match->param_count == ROUTE_PARAMS_MAX)
            return false;
        match->names[match->param_count] = (struct text){part.at + 1, part.len - 2};
        match->values[match->param_count++] = given;
    }
    return path.at == NULL;
}

static void allow_add(struct route_match *match, const char *method)
{
    struct text rest = text_of(match->allow), one;
    while (text_next(&rest, ',', &one))
        if (text_is(text_trim(one), method))
            return;
    size_t len = strlen(match->allow);
    snprintf(match->allow + len, sizeof match->allow - len, "%s%s", len ? ", " : "", method);
}

void router_find(const struct route *routes, size_t count, struct text method, struct text path,
                 struct route_match *match)
{
    *match = (struct route_match){0};
    for (size_t i = 0; i < count; i++) {
        if (!pattern_fits(routes[i].pattern, path, match))
            continue;
        match->path_known = true;
        allow_add(match, routes[i].method);
        if (text_is(method, routes[i].method)) {
            match->route = &routes[i];
            return;
        }
    }
    match->param_count = 0;
}

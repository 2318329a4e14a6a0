#include "gateway/origin.h"

static bool in_list(struct text list, struct text origin)
{
    struct text item;
    while (text_next(&list, ',', &item))
        if (origin.len && text_equal_nocase(text_trim(item), origin))
            return true;
    return false;
}

static bool is_elsewhere(const struct origin_facts *facts)
{
    return text_is(facts->site, "cross-site") || text_is(facts->site, "same-site");
}

/* PUBLIC_URL, or "https://host[:port]" of this very request: unless the browser says that it is another site. Then the
 * scheme differs, and anybody on the way may have written a page of plain http. */
static bool is_own(const struct origin_facts *facts)
{
    if (!facts->origin.len || text_is(facts->origin, "null"))
        return false;
    if (facts->public_url.len && text_equal_nocase(facts->origin, facts->public_url))
        return true;
    if (is_elsewhere(facts))
        return false;
    struct text host = {NULL, 0};
    if (text_starts(facts->origin, "https://"))
        host = (struct text){facts->origin.at + 8, facts->origin.len - 8};
    else if (text_starts(facts->origin, "http://"))
        host = (struct text){facts->origin.at + 7, facts->origin.len - 7};
    return host.len > 0 && text_equal_nocase(host, facts->host);
}

enum origin_verdict origin_judge(const struct origin_facts *facts)
{
    if (text_is(facts->method, "GET") && text_is(facts->mode, "navigate"))
        return ORIGIN_NAVIGATE;
    if (facts->origin.at) {
        if (!text_is(facts->origin, "null") && in_list(facts->allowed, facts->origin))
            return ORIGIN_ALLOWED;
        return is_own(facts) ? ORIGIN_SAME : ORIGIN_REFUSED;
    }
    /* A browser that says where it comes from, but not from which origin (a GET without CORS): not ours, not welcome.
     */
    return is_elsewhere(facts) ? ORIGIN_REFUSED : ORIGIN_SAME;
}

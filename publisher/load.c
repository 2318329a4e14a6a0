#include "publisher/load.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "publisher/meters.h"

#include <stdlib.h>

struct load {
    struct map_node node; /* in loads.items */
    char key[LOAD_KEY_MAX + 1];
    uint64_t seen_ms;  /* when it last had a value, or was first asked for */
    uint64_t asked_ms; /* when it was last read */
    bool missing;
};

static struct text load_key(const struct map_node *node)
{
    return text_of(CONTAINER_OF(node, const struct load, node)->key);
}

void loads_init(struct loads *loads, struct metrics *metrics)
{
    *loads = (struct loads){.metrics = metrics};
    map_init(&loads->items, load_key);
}

static void load_drop(struct loads *loads, struct load *load)
{
    map_remove(&loads->items, &load->node);
    metrics_drop(loads->metrics, load->key);
    free(load);
}

void loads_finish(struct loads *loads)
{
    MAP_EACH(&loads->items, node, next, cursor)
    load_drop(loads, CONTAINER_OF(node, struct load, node));
    map_finish(&loads->items);
}

static void forget_old(struct loads *loads, uint64_t now_ms)
{
    MAP_EACH(&loads->items, node, next, cursor)
    {
        struct load *load = CONTAINER_OF(node, struct load, node);
        if (now_ms - load->asked_ms > LOAD_FORGET_MS)
            load_drop(loads, load);
    }
}

/* NULL without memory, or with too many: its metrics are missing then, its value is not. */
static struct load *load_get(struct loads *loads, const char *key, uint64_t now_ms)
{
    struct map_node *node = map_find(&loads->items, text_of(key));
    if (node)
        return CONTAINER_OF(node, struct load, node);
    if (loads->items.len >= LOADS_MAX)
        forget_old(loads, now_ms);
    struct load *load = loads->items.len < LOADS_MAX ? calloc(1, sizeof *load) : NULL;
    if (!load)
        return NULL;
    CHECK(text_copy(load->key, sizeof load->key, text_of(key)) == OK);
    load->seen_ms = now_ms;
    if (map_insert(&loads->items, &load->node) == OK)
        return load;
    free(load);
    return NULL;
}

static void load_tell(struct loads *loads, struct load *load, bool given, double tps, uint64_t now_ms)
{
    load->asked_ms = now_ms;
    if (given)
        load->seen_ms = now_ms;
    if (given == load->missing)
        log_event(given ? LOG_INFO : LOG_WARN, given ? "load-back" : "load-missing", LOG_S("key", load->key),
                  LOG_S("detail", given ? "the site reports its load again"
                                        : "nobody reports the site's load: each session's onMissing decides"));
    load->missing = !given;
    if (given)
        metrics_set(loads->metrics, METER_LOAD_TPS, tps, load->key, NULL, NULL);
    metrics_set(loads->metrics, METER_LOAD_AGE, (double)(now_ms - load->seen_ms) / 1000, load->key, NULL, NULL);
}

void loads_take(struct loads *loads, const char *key, const struct redis_reply *reply, uint64_t now_ms,
                char text[LOAD_TEXT_SIZE])
{
    double tps = 0;
    struct text value = reply_text(reply);
    bool given = value.at && text_double(value, &tps) == OK && load_valid(tps);
    struct load *load = load_get(loads, key, now_ms);
    if (load)
        load_tell(loads, load, given, tps, now_ms);
    if (given)
        snprintf(text, LOAD_TEXT_SIZE, "%.15g", tps);
    else
        snprintf(text, LOAD_TEXT_SIZE, "missing");
}

#include "publisher/watch.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/line/memory.h"
#include "publisher/publisher.h"
#include "publisher/view.h"

#include <stdlib.h>

static struct watch *of_node(const struct map_node *node)
{
    return CONTAINER_OF(node, struct watch, node);
}

static struct text watch_key(const struct map_node *node)
{
    return text_of(of_node(node)->session);
}

void watches_init(struct watches *watches, struct publisher *publisher, void (*on_looked)(void *data), void *data)
{
    *watches = (struct watches){.publisher = publisher, .on_looked = on_looked, .data = data};
    map_init(&watches->by_session, watch_key);
    list_init(&watches->round);
}

void watches_finish(struct watches *watches)
{
    CHECK(watches->by_session.len == 0 && !watches->asking);
    map_finish(&watches->by_session);
}

struct watch *watch_take(struct watches *watches, struct text session)
{
    struct map_node *node = map_find(&watches->by_session, session);
    struct watch *watch = node ? of_node(node) : calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->users++;
    if (node)
        return watch;
    CHECK(text_copy(watch->session, sizeof watch->session, session) == OK);
    if (map_insert(&watches->by_session, &watch->node) != OK) {
        free(watch);
        return NULL;
    }
    list_append(watches->round.next, &watch->link); /* before the first */
    return watch;
}

void watch_release(struct watches *watches, struct watch *watch)
{
    CHECK(watch->users > 0);
    if (--watch->users > 0)
        return;
    map_remove(&watches->by_session, &watch->node);
    list_remove(&watch->link);
    free(watch->text);
    free(watch);
}

/* ---- looking ---- */

/* Takes TEXT (NULL: there is no such session). */
static void watch_show(struct watch *watch, char *text)
{
    bool same = watch->seq > 0 && (text && watch->text ? strcmp(text, watch->text) == 0 : text == watch->text);
    if (same) {
        free(text);
        return;
    }
    free(watch->text);
    watch->text = text;
    watch->seq++;
}

static void watch_looked(struct watches *watches, const char *session, const json_t *item)
{
    struct map_node *node = map_find(&watches->by_session, text_of(session));
    if (!node) /* nobody looks at it any more */
        return;
    bool there = json_is_object(item);
    char *text = there ? memory_dumps(item, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (text || !there)
        watch_show(of_node(node), text);
}

static void fetched(void *data, enum err err, json_t *items)
{
    struct watches *watches = data;
    watches->asking = false;
    if (err != OK) /* the next second tries again */
        return;
    for (size_t i = 0; i < watches->asked_count; i++)
        watch_looked(watches, watches->asked[i], json_array_get(items, i));
    json_decref(items);
    watches->on_looked(watches->data);
    watches_look(watches);
}

void watches_look(struct watches *watches)
{
    uint64_t now_ms = clock_mono_ms();
    size_t count = 0, most = watches->budget < WATCH_LOOKS_AT_ONCE ? watches->budget : WATCH_LOOKS_AT_ONCE;
    struct text sessions[WATCH_LOOKS_AT_ONCE];
    if (watches->asking || !watches->publisher->ready)
        return;
    while (count < most && !list_empty(&watches->round)) {
        struct watch *watch = CONTAINER_OF(watches->round.next, struct watch, link);
        if (watch->looked_ms > 0 && now_ms - watch->looked_ms < WATCH_EVERY_MS)
            break;
        memcpy(watches->asked[count], watch->session, sizeof watch->session);
        sessions[count] = text_of(watches->asked[count]);
        count++;
        watch->looked_ms = now_ms;
        list_remove(&watch->link);
        list_append(&watches->round, &watch->link);
    }
    watches->asked_count = count;
    watches->budget -= (unsigned)count;
    watches->asking = count > 0 && view_fetch(watches->publisher, sessions, count, fetched, watches) == OK;
}

void watches_second(struct watches *watches)
{
    watches->budget = WATCH_LOOKS_MAX;
    watches_look(watches);
}

#include "publisher/catalog.h"

#include "common/base/log.h"
#include "publisher/publisher.h"

#define REFRESH_S 3

static struct owner *of_node(struct map_node *node)
{
    return CONTAINER_OF(node, struct owner, node);
}

static struct text owner_key(const struct map_node *node)
{
    return text_of(CONTAINER_OF(node, const struct owner, node)->session);
}

void catalog_init(struct catalog *catalog, struct publisher *publisher)
{
    *catalog = (struct catalog){.publisher = publisher};
    map_init(&catalog->owners, owner_key);
}

void catalog_drop(struct catalog *catalog, struct owner *owner)
{
    map_remove(&catalog->owners, &owner->node);
    owner_drop(owner);
}

void catalog_finish(struct catalog *catalog)
{
    MAP_EACH(&catalog->owners, node, next, cursor)
    catalog_drop(catalog, of_node(node));
    map_finish(&catalog->owners);
}

struct owner *catalog_find(const struct catalog *catalog, struct text session)
{
    struct map_node *node = map_find(&catalog->owners, session);
    return node ? of_node(node) : NULL;
}

static struct owner *catalog_add(struct catalog *catalog, struct text session)
{
    struct owner *owner;
    if (catalog->owners.len >= CATALOG_MAX) {
        if (!catalog->told_full)
            log_event(LOG_ERROR, "too-many-sessions", LOG_T("session", session), LOG_I("most", CATALOG_MAX));
        catalog->told_full = true;
        return NULL;
    }
    if (owner_create(catalog->publisher, session, &owner) != OK)
        return NULL; /* the next refresh tries again */
    if (map_insert(&catalog->owners, &owner->node) != OK) {
        owner_drop(owner);
        return NULL;
    }
    return owner;
}

/* ---- the set ---- */

static void sessions_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct catalog *catalog = data;
    struct owner *owner;
    catalog->asking = false;
    if (err != OK)
        return;
    MAP_EACH(&catalog->owners, node, next, cursor)
    of_node(node)->listed = false;
    for (size_t i = 0; i < reply_len(reply); i++) {
        struct text session = reply_text(reply_at(reply, i));
        if (!session_id_valid(session))
            continue;
        struct owner *known = catalog_find(catalog, session);
        owner = known;
        if (!owner && !(owner = catalog_add(catalog, session)))
            continue;
        owner->listed = true;
        if (!known)
            owner_ring(owner);
    }
    MAP_EACH(&catalog->owners, node, next, cursor)
    {
        owner = of_node(node);
        if (!owner->listed && owner->known.epoch) /* Redis may have lost the set too: its tick finds out */
            owner_ring(owner);
        else if (!owner->listed) /* a deletion takes the id off the set last */
            catalog_drop(catalog, owner);
    }
    if (catalog->again)
        catalog_refresh(catalog);
}

void catalog_refresh(struct catalog *catalog)
{
    struct publisher *publisher = catalog->publisher;
    char key[KEY_SIZE];
    catalog->again = catalog->asking;
    if (catalog->asking || !publisher->ready || publisher->stopping)
        return;
    struct text args[] = {TEXT("SMEMBERS"), key_global(key, publisher->line.prefix, "sessions")};
    catalog->asking = line_command(&publisher->line, 2, args, sessions_answered, catalog) == OK;
    catalog->age_s = 0;
}

void catalog_second(struct catalog *catalog)
{
    if (++catalog->age_s >= REFRESH_S)
        catalog_refresh(catalog);
}

void catalog_ring(struct catalog *catalog, struct text session)
{
    struct owner *owner = catalog_find(catalog, session);
    if (!owner)
        owner = catalog_add(catalog, session);
    if (owner)
        owner_ring(owner);
}

void catalog_wake(struct catalog *catalog)
{
    MAP_EACH(&catalog->owners, node, next, cursor)
    owner_ring(of_node(node));
    catalog_refresh(catalog);
}

bool catalog_idle(const struct catalog *catalog)
{
    MAP_EACH(&catalog->owners, node, next, cursor)
    if (of_node(node)->tick)
        return false;
    return true;
}

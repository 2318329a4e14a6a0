#include "gateway/unclaimed.h"

#include <stdlib.h>

static struct text entry_key(const struct map_node *node)
{
    return (struct text){CONTAINER_OF(node, const struct unclaimed_entry, node)->place, PLACE_ID_LEN};
}

void unclaimed_init(struct unclaimed *unclaimed)
{
    map_init(&unclaimed->entries, entry_key);
    list_init(&unclaimed->by_age);
}

static void entry_unlink(struct unclaimed *unclaimed, struct unclaimed_entry *entry)
{
    map_remove(&unclaimed->entries, &entry->node);
    list_remove(&entry->link);
}

static struct unclaimed_entry *oldest(struct unclaimed *unclaimed)
{
    struct list *first = list_first(&unclaimed->by_age);
    return first ? CONTAINER_OF(first, struct unclaimed_entry, link) : NULL;
}

void unclaimed_finish(struct unclaimed *unclaimed)
{
    struct unclaimed_entry *entry;
    while ((entry = oldest(unclaimed)) != NULL) {
        entry_unlink(unclaimed, entry);
        free(entry);
    }
    map_finish(&unclaimed->entries);
}

void unclaimed_keep(struct unclaimed *unclaimed, const struct message *message, uint64_t now_ms)
{
    struct unclaimed_entry *entry;
    while ((entry = oldest(unclaimed)) != NULL &&
           (unclaimed->entries.len >= UNCLAIMED_MAX || now_ms - entry->since_ms > UNCLAIMED_MS)) {
        entry_unlink(unclaimed, entry);
        free(entry);
    }
    if (map_find(&unclaimed->entries, message->place))
        return;
    entry = calloc(1, sizeof *entry + message->token.len);
    if (!entry)
        return;
    entry->since_ms = now_ms;
    entry->admitted_ms = message->admitted_ms;
    memcpy(entry->place, message->place.at, PLACE_ID_LEN);
    entry->token_len = message->token.len;
    memcpy(entry->token, message->token.at, message->token.len);
    list_init(&entry->link);
    if (map_insert(&unclaimed->entries, &entry->node) != OK) {
        free(entry);
        return;
    }
    list_append(&unclaimed->by_age, &entry->link);
}

struct unclaimed_entry *unclaimed_take(struct unclaimed *unclaimed, struct text place)
{
    struct map_node *node = map_find(&unclaimed->entries, place);
    if (!node)
        return NULL;
    struct unclaimed_entry *entry = CONTAINER_OF(node, struct unclaimed_entry, node);
    entry_unlink(unclaimed, entry);
    return entry;
}

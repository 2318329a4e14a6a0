/** Intrusive hash map from byte strings to nodes inside the caller's structs. Chained, doubles when full, never shrinks
 *  below 16 buckets. Keys stay in the element; the hash is keyed per process (SipHash-1-3), so outsiders cannot choose
 *  collisions. The map never frees an element. */
#ifndef ANTEROOM_BASE_MAP_H
#define ANTEROOM_BASE_MAP_H

#include "common/base/err.h"
#include "common/base/list.h"
#include "common/base/text.h"

#include <stddef.h>
#include <stdint.h>

struct map_node {
    struct map_node *next;
    uint64_t hash;
};

struct map {
    struct map_node **buckets;
    size_t bucket_count, len;
    struct text (*key)(const struct map_node *node);
};

/** KEY gives an element's key; it must not change while the element is in the map. */
void map_init(struct map *map, struct text (*key)(const struct map_node *node));
/** Frees the table; the elements are the caller's. */
void map_finish(struct map *map);
/** NULL when absent. */
struct map_node *map_find(const struct map *map, struct text key);
/** The key must not be there yet. ERR_NOMEM only when the very first table cannot be made; growing is best effort. */
MUST_CHECK enum err map_insert(struct map *map, struct map_node *node);
/** The node must be in the map. */
void map_remove(struct map *map, struct map_node *node);
/** Some element at or after *CURSOR in table order, and the cursor moved on; NULL at the end. Start with 0.
 *  Removing the returned element is allowed; inserting while walking is not. */
struct map_node *map_walk(const struct map *map, struct map_node **next, size_t *cursor);

#define MAP_EACH(map, node, next, cursor)                                        \
    for (size_t cursor = 0, once_##cursor = 1; once_##cursor; once_##cursor = 0) \
        for (struct map_node *next = NULL, *node; (node = map_walk((map), &next, &cursor)) != NULL;)

/** SipHash-1-3 with a key drawn at start. Source: Aumasson and Bernstein, "SipHash", 2012. */
uint64_t map_hash(struct text key);

#endif

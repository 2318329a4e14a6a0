#include "common/base/map.h"

#include "common/base/check.h"
#include "common/base/entropy.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 16

static inline uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

uint64_t map_hash(struct text key)
{
    static uint64_t secret[2];
    while (secret[0] == 0)
        entropy_fill(secret, sizeof secret);
    uint64_t v[4] = {secret[0] ^ 0x736f6d6570736575u, secret[1] ^ 0x646f72616e646f6du, secret[0] ^ 0x6c7967656e657261u,
                     secret[1] ^ 0x7465646279746573u};
    size_t left = key.len;
    const char *at = key.at;
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)key.len << 56;
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)(unsigned char)at[i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void map_init(struct map *map, struct text (*key)(const struct map_node *node))
{
    *map = (struct map){.key = key};
}

void map_finish(struct map *map)
{
    free(map->buckets);
    map_init(map, map->key);
}

struct map_node *map_find(const struct map *map, struct text key)
{
    if (map->len == 0)
        return NULL;
    uint64_t hash = map_hash(key);
    struct map_node *node = map->buckets[hash & (map->bucket_count - 1)];
    while (node && !(node->hash == hash && text_equal(map->key(node), key)))
        node = node->next;
    return node;
}

static enum err map_grow(struct map *map)
{
    size_t count = map->bucket_count ? map->bucket_count * 2 : BUCKETS_MIN;
    struct map_node **buckets = calloc(count, sizeof *buckets);
    if (!buckets)
        return ERR_NOMEM;
    for (size_t i = 0; i < map->bucket_count; i++) {
        for (struct map_node *node = map->buckets[i], *next; node; node = next) {
            next = node->next;
            node->next = buckets[node->hash & (count - 1)];
            buckets[node->hash & (count - 1)] = node;
        }
    }
    free(map->buckets);
    map->buckets = buckets;
    map->bucket_count = count;
    return OK;
}

enum err map_insert(struct map *map, struct map_node *node)
{
    if (map->len >= map->bucket_count && map_grow(map) != OK && map->bucket_count == 0)
        return ERR_NOMEM;
    node->hash = map_hash(map->key(node));
    struct map_node **bucket = &map->buckets[node->hash & (map->bucket_count - 1)];
    node->next = *bucket;
    *bucket = node;
    map->len++;
    return OK;
}

void map_remove(struct map *map, struct map_node *node)
{
    CHECK(map->bucket_count > 0);
    struct map_node **at = &map->buckets[node->hash & (map->bucket_count - 1)];
    while (*at != node) {
        CHECK(*at);
        at = &(*at)->next;
    }
    *at = node->next;
    node->next = NULL;
    map->len--;
}

struct map_node *map_walk(const struct map *map, struct map_node **next, size_t *cursor)
{
    struct map_node *node = *next;
    while (!node && *cursor < map->bucket_count)
        node = map->buckets[(*cursor)++];
    *next = node ? node->next : NULL;
    return node;
}

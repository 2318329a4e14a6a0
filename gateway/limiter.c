#include "gateway/limiter.h"

#include <stdlib.h>

struct bucket {
    struct map_node node;
    struct list link;
    uint8_t key[16];
    uint64_t seen_ms;
    uint64_t credit; /* tokens × period_ms, so that no fraction is lost */
};

static struct text bucket_key(const struct map_node *node)
{
    return (struct text){(const char *)CONTAINER_OF(node, const struct bucket, node)->key, 16};
}

enum err limiter_parse(struct text text, uint32_t *count, uint32_t *period_ms)
{
    struct text rest = text, part;
    int64_t joins, seconds;
    *count = *period_ms = 0;
    if (text_is(text, "off"))
        return OK;
    if (!text_next(&rest, '/', &part) || text_int(part, 1, 1000000, &joins) != OK ||
        text_int(rest, 1, 3600, &seconds) != OK)
        return ERR_INVALID;
    *count = (uint32_t)joins;
    *period_ms = (uint32_t)seconds * 1000;
    return OK;
}

void limiter_init(struct limiter *limiter, uint32_t count, uint32_t period_ms, size_t addresses_max)
{
    *limiter = (struct limiter){.count = count, .period_ms = period_ms, .addresses_max = addresses_max};
    map_init(&limiter->buckets, bucket_key);
    list_init(&limiter->by_use);
}

static void forget(struct limiter *limiter, struct bucket *bucket)
{
    map_remove(&limiter->buckets, &bucket->node);
    list_remove(&bucket->link);
    free(bucket);
}

static struct bucket *oldest(struct limiter *limiter)
{
    struct list *first = list_first(&limiter->by_use);
    return first ? CONTAINER_OF(first, struct bucket, link) : NULL;
}

void limiter_finish(struct limiter *limiter)
{
    while (oldest(limiter))
        forget(limiter, oldest(limiter));
    map_finish(&limiter->buckets);
}

static bool is_old(const struct limiter *limiter, const struct bucket *bucket, uint64_t now_ms)
{
    uint64_t quiet_ms = now_ms - bucket->seen_ms;
    return quiet_ms > LIMITER_FORGET_MS && quiet_ms > limiter->period_ms;
}

static struct bucket *bucket_new(struct limiter *limiter, const uint8_t key[16], uint64_t now_ms)
{
    while (oldest(limiter) &&
           (limiter->buckets.len >= limiter->addresses_max || is_old(limiter, oldest(limiter), now_ms)))
        forget(limiter, oldest(limiter));
    struct bucket *bucket = calloc(1, sizeof *bucket);
    if (!bucket)
        return NULL;
    memcpy(bucket->key, key, 16);
    bucket->seen_ms = now_ms;
    bucket->credit = (uint64_t)limiter->count * limiter->period_ms;
    list_init(&bucket->link);
    if (map_insert(&limiter->buckets, &bucket->node) != OK) {
        free(bucket);
        return NULL;
    }
    return bucket;
}

bool limiter_allow(struct limiter *limiter, const struct address *address, uint64_t now_ms, uint32_t *wait_ms)
{
    uint8_t key[16];
    *wait_ms = 0;
    if (limiter->count == 0)
        return true;
    memcpy(key, address->bytes, 16);
    if (!address_is_v4(address))
        memset(key + 8, 0, 8);
    struct map_node *node = map_find(&limiter->buckets, (struct text){(char *)key, 16});
    struct bucket *bucket = node ? CONTAINER_OF(node, struct bucket, node) : bucket_new(limiter, key, now_ms);
    if (!bucket)
        return true;
    uint64_t full = (uint64_t)limiter->count * limiter->period_ms, passed = now_ms - bucket->seen_ms;
    if (passed > limiter->period_ms)
        passed = limiter->period_ms;
    bucket->credit += passed * limiter->count;
    if (bucket->credit > full)
        bucket->credit = full;
    bucket->seen_ms = now_ms;
    list_remove(&bucket->link);
    list_append(&limiter->by_use, &bucket->link);
    if (bucket->credit >= limiter->period_ms) {
        bucket->credit -= limiter->period_ms;
        return true;
    }
    *wait_ms = (uint32_t)((limiter->period_ms - bucket->credit + limiter->count - 1) / limiter->count);
    return false;
}

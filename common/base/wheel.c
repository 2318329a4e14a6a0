#include "common/base/wheel.h"

#include "common/base/check.h"

void wheel_init(struct wheel *wheel, uint32_t tick_ms, uint64_t now_ms)
{
    CHECK(tick_ms > 0);
    for (size_t i = 0; i < WHEEL_BUCKETS; i++)
        list_init(&wheel->buckets[i]);
    list_init(&wheel->due);
    wheel->tick = now_ms / tick_ms;
    wheel->tick_ms = tick_ms;
    wheel->armed = 0;
}

void wheel_node_init(struct wheel_node *node)
{
    list_init(&node->link);
    node->due_tick = 0;
}

void wheel_set(struct wheel *wheel, struct wheel_node *node, uint64_t due_ms)
{
    wheel_cancel(wheel, node);
    node->due_tick = due_ms / wheel->tick_ms + 1; /* the tick after: never early */
    if (node->due_tick <= wheel->tick)
        node->due_tick = wheel->tick + 1;
    list_append(&wheel->buckets[node->due_tick % WHEEL_BUCKETS], &node->link);
    wheel->armed++;
}

void wheel_cancel(struct wheel *wheel, struct wheel_node *node)
{
    if (!wheel_armed(node))
        return;
    list_remove(&node->link);
    wheel->armed--;
}

/* A bucket also holds nodes of later rounds: they stay. */
static void bucket_sweep(struct wheel *wheel, struct list *bucket, uint64_t target)
{
    struct list *next;
    for (struct list *link = bucket->next; link != bucket; link = next) {
        next = link->next;
        if (CONTAINER_OF(link, struct wheel_node, link)->due_tick > target)
            continue;
        list_remove(link);
        list_append(&wheel->due, link);
    }
}

void wheel_advance(struct wheel *wheel, uint64_t now_ms)
{
    uint64_t target = now_ms / wheel->tick_ms;
    if (target <= wheel->tick)
        return;
    uint64_t steps = target - wheel->tick;
    if (steps > WHEEL_BUCKETS)
        steps = WHEEL_BUCKETS;
    for (uint64_t i = 1; i <= steps; i++)
        bucket_sweep(wheel, &wheel->buckets[(wheel->tick + i) % WHEEL_BUCKETS], target);
    wheel->tick = target;
}

struct wheel_node *wheel_pop(struct wheel *wheel)
{
    struct list *link = list_first(&wheel->due);
    if (!link)
        return NULL;
    list_remove(link);
    wheel->armed--;
    return CONTAINER_OF(link, struct wheel_node, link);
}

/** Intrusive, circular, doubly linked list. A head is a node that belongs to no element. No allocation, all O(1). */
#ifndef ANTEROOM_BASE_LIST_H
#define ANTEROOM_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

struct list {
    struct list *prev, *next;
};

static inline void list_init(struct list *node)
{
    node->prev = node->next = node;
}

/** True for an empty head and for a node that is in no list (after list_init or list_remove). */
static inline bool list_empty(const struct list *node)
{
    return node->next == node;
}

static inline void list_append(struct list *head, struct list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/** The first node, still in the list; NULL when empty. */
static inline struct list *list_first(struct list *head)
{
    return list_empty(head) ? NULL : head->next;
}

#endif

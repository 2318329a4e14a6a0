#include "common/redis/deadlines.h"

#include <stdlib.h>

static void put(struct deadlines *deadlines, size_t index, struct deadline *deadline)
{
    deadlines->heap[index] = deadline;
    deadline->place = index + 1;
}

static size_t rise(struct deadlines *deadlines, size_t index, const struct deadline *deadline)
{
    for (; index > 0 && deadline->at_ms < deadlines->heap[(index - 1) / 2]->at_ms; index = (index - 1) / 2)
        put(deadlines, index, deadlines->heap[(index - 1) / 2]);
    return index;
}

static size_t sink(struct deadlines *deadlines, size_t index, const struct deadline *deadline)
{
    for (size_t child; (child = 2 * index + 1) < deadlines->len; index = child) {
        if (child + 1 < deadlines->len && deadlines->heap[child + 1]->at_ms < deadlines->heap[child]->at_ms)
            child++;
        if (deadline->at_ms <= deadlines->heap[child]->at_ms)
            break;
        put(deadlines, index, deadlines->heap[child]);
    }
    return index;
}

void redis_deadlines_finish(struct deadlines *deadlines)
{
    free(deadlines->heap);
    *deadlines = (struct deadlines){0};
}

enum err redis_deadlines_add(struct deadlines *deadlines, struct deadline *deadline)
{
    deadline->place = 0;
    if (deadlines->len == deadlines->cap) {
        size_t cap = deadlines->cap ? deadlines->cap * 2 : 64;
        struct deadline **heap = realloc(deadlines->heap, cap * sizeof(*heap));
        if (!heap)
            return ERR_NOMEM;
        deadlines->heap = heap;
        deadlines->cap = cap;
    }
    size_t index = deadlines->len++;
    put(deadlines, rise(deadlines, index, deadline), deadline);
    return OK;
}

void redis_deadlines_remove(struct deadlines *deadlines, struct deadline *deadline)
{
    if (deadline->place == 0)
        return;
    size_t index = deadline->place - 1;
    deadline->place = 0;
    struct deadline *last = deadlines->heap[--deadlines->len];
    if (last == deadline)
        return;
    size_t risen = rise(deadlines, index, last);
    put(deadlines, risen == index ? sink(deadlines, index, last) : risen, last);
}

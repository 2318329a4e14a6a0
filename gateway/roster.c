#include "gateway/roster.h"

#include "common/base/check.h"

#include <stdlib.h>

void roster_init(struct roster *roster, void (*moved)(struct place *place, size_t index))
{
    *roster = (struct roster){.sorted = true, .moved = moved};
}

void roster_finish(struct roster *roster)
{
    free(roster->rows);
    roster_init(roster, roster->moved);
}

size_t roster_count(const struct roster *roster)
{
    return roster->len - roster->holes;
}

enum err roster_add(struct roster *roster, uint64_t ticket, struct place *place)
{
    if (roster->len == roster->cap) {
        size_t cap = roster->cap ? roster->cap * 2 : 16;
        struct roster_row *rows = realloc(roster->rows, cap * sizeof *rows);
        if (!rows)
            return ERR_NOMEM;
        roster->rows = rows;
        roster->cap = cap;
    }
    if (roster->len > 0 && roster->rows[roster->len - 1].ticket > ticket)
        roster->sorted = false;
    roster->rows[roster->len] = (struct roster_row){ticket, place};
    roster->moved(place, roster->len++);
    return OK;
}

void roster_remove(struct roster *roster, size_t index)
{
    CHECK(index < roster->len && roster->rows[index].place);
    roster->rows[index].place = NULL;
    roster->holes++;
    while (roster->len > 0 && !roster->rows[roster->len - 1].place) {
        roster->len--;
        roster->holes--;
    }
}

static int compare_rows(const void *a, const void *b)
{
    uint64_t x = ((const struct roster_row *)a)->ticket, y = ((const struct roster_row *)b)->ticket;
    return x < y ? -1 : x > y;
}

void roster_tidy(struct roster *roster)
{
    if (roster->holes == 0 && roster->sorted)
        return;
    size_t len = 0;
    for (size_t i = 0; i < roster->len; i++)
        if (roster->rows[i].place)
            roster->rows[len++] = roster->rows[i];
    roster->len = len;
    roster->holes = 0;
    if (!roster->sorted && len > 1)
        qsort(roster->rows, len, sizeof *roster->rows, compare_rows);
    roster->sorted = true;
    for (size_t i = 0; i < len; i++)
        roster->moved(roster->rows[i].place, i);
}

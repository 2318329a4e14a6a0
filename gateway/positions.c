#include "gateway/positions.h"

#include "common/line/message.h"

#include <stdlib.h>

void positions_init(struct positions *positions)
{
    *positions = (struct positions){.epoch = 0};
}

void positions_finish(struct positions *positions)
{
    free(positions->words);
    positions_init(positions);
}

uint64_t positions_front(const struct positions *positions)
{
    return positions->head > positions->base ? positions->head : positions->base;
}

static enum err make_room(struct positions *positions, uint64_t ticket)
{
    uint64_t need = (ticket - positions->first) / 64 + 1;
    if (need <= positions->word_count)
        return OK;
    if (need > POSITIONS_WORDS_MAX)
        return ERR_TOO_BIG;
    size_t count = positions->word_count ? positions->word_count : 16;
    while (count < need)
        count *= 2;
    uint64_t *words = realloc(positions->words, count * sizeof *words);
    if (!words)
        return ERR_NOMEM;
    memset(words + positions->word_count, 0, (count - positions->word_count) * sizeof *words);
    positions->words = words;
    positions->word_count = count;
    return OK;
}

static void set_bit(struct positions *positions, uint64_t ticket)
{
    uint64_t at = ticket - positions->first;
    positions->words[at / 64] |= (uint64_t)1 << (at % 64);
}

enum err positions_load(struct positions *positions, const struct positions_picture *picture)
{
    struct positions loaded = {
        .epoch = picture->epoch,
        .rev = picture->rev,
        .base = picture->base,
        .head = picture->head,
        .tail = picture->tail,
        .waiting = picture->waiting,
    };
    uint64_t front = positions_front(&loaded);
    loaded.first = front / 64 * 64;
    for (size_t i = 0; i < picture->bits.len; i++) {
        unsigned char byte = (unsigned char)picture->bits.at[i];
        for (unsigned bit = 0; byte && bit < 8; bit++) {
            uint64_t ticket = picture->first + i * 8 + bit;
            if (!(byte & (0x80u >> bit)) || ticket <= front)
                continue;
            enum err err = make_room(&loaded, ticket);
            if (err != OK) {
                positions_finish(&loaded);
                return err;
            }
            set_bit(&loaded, ticket);
        }
    }
    positions_finish(positions);
    *positions = loaded;
    return OK;
}

/* Words wholly behind the front go, in bulk, so that the cost a ticket stays constant. */
static void forget_behind(struct positions *positions)
{
    size_t behind = (size_t)((positions_front(positions) - positions->first) / 64);
    if (behind < 1024 && behind < positions->word_count)
        return;
    if (behind >= positions->word_count) {
        positions->first += (uint64_t)behind * 64;
        if (positions->word_count)
            memset(positions->words, 0, positions->word_count * sizeof *positions->words);
        return;
    }
    size_t left = positions->word_count - behind;
    memmove(positions->words, positions->words + behind, left * sizeof *positions->words);
    memset(positions->words + left, 0, behind * sizeof *positions->words);
    positions->first += (uint64_t)behind * 64;
}

enum err positions_advance(struct positions *positions, uint64_t rev, uint64_t base, uint64_t head, uint64_t tail,
                           uint64_t waiting, struct text departed)
{
    uint64_t last = 0, ticket, front = head > base ? head : base;
    struct text rest = departed;
    bool bad;
    /* First without a change: room for the highest, and is the list well formed. */
    while (departed_next(&rest, &last, &ticket, &bad)) {
        if (ticket > tail)
            return ERR_INVALID;
        enum err err = ticket > front && ticket >= positions->first ? make_room(positions, ticket) : OK;
        if (err != OK)
            return err;
    }
    if (bad)
        return ERR_INVALID;
    rest = departed;
    last = 0;
    while (departed_next(&rest, &last, &ticket, &bad))
        if (ticket > front && ticket >= positions->first)
            set_bit(positions, ticket);
    positions->rev = rev;
    positions->base = base;
    positions->head = head;
    positions->tail = tail;
    positions->waiting = waiting;
    forget_behind(positions);
    return OK;
}

bool positions_departed(const struct positions *positions, uint64_t ticket)
{
    uint64_t at = ticket - positions->first;
    return ticket >= positions->first && at / 64 < positions->word_count &&
           (positions->words[at / 64] >> (at % 64) & 1) != 0;
}

void positions_walk_start(const struct positions *positions, struct positions_walk *walk)
{
    *walk = (struct positions_walk){positions_front(positions), 0};
}

/* Departed among the tickets (after, up_to]. */
static uint64_t count_departed(const struct positions *positions, uint64_t after, uint64_t up_to)
{
    uint64_t count = 0, from = after + 1 - positions->first, to = up_to - positions->first; /* bits [from, to] */
    uint64_t last = (uint64_t)positions->word_count * 64;
    if (last == 0 || from >= last)
        return 0;
    if (to >= last)
        to = last - 1;
    for (uint64_t w = from / 64; w <= to / 64; w++) {
        uint64_t word = positions->words[w];
        if (w == from / 64)
            word &= ~(uint64_t)0 << (from % 64);
        if (w == to / 64)
            word &= ~(uint64_t)0 >> (63 - to % 64);
        count += (uint64_t)__builtin_popcountll(word);
    }
    return count;
}

uint64_t positions_walk_to(const struct positions *positions, struct positions_walk *walk, uint64_t ticket)
{
    uint64_t front = positions_front(positions);
    if (ticket <= front)
        return 0;
    if (ticket > walk->ticket) {
        walk->departed += count_departed(positions, walk->ticket, ticket);
        walk->ticket = ticket;
    }
    return ticket - front - walk->departed;
}

uint64_t positions_of(const struct positions *positions, uint64_t ticket)
{
    struct positions_walk walk;
    positions_walk_start(positions, &walk);
    return positions_departed(positions, ticket) ? 0 : positions_walk_to(positions, &walk, ticket);
}

#include "common/line/restoration.h"

#include "common/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS_MAX 256
#define NUMBER_SIZE 24
#define PLACE_ARGS 7

static struct text number(char dst[NUMBER_SIZE], uint64_t value)
{
    int len = snprintf(dst, NUMBER_SIZE, "%" PRIu64, value);
    return (struct text){dst, (size_t)len};
}

/* ---- what is kept ---- */

enum err line_keep(struct line *line, struct text session, redis_callback *callback, void *data)
{
    return line_eval(line, &script_keep, session, 0, NULL, callback, data);
}

static size_t words_bytes(const struct redis_reply *list)
{
    size_t bytes = 0;
    for (size_t i = 0; i < reply_len(list); i++)
        bytes += reply_text(reply_at(list, i)).len;
    return bytes;
}

static char *words_copy(struct text *dst, const struct redis_reply *list, char *room)
{
    for (size_t i = 0; i < reply_len(list); i++) {
        struct text word = reply_text(reply_at(list, i));
        if (word.len)
            memcpy(room, word.at, word.len);
        dst[i] = (struct text){room, word.len};
        room += word.len;
    }
    return room;
}

enum err kept_take(struct kept *kept, enum err err, const struct redis_reply *reply)
{
    if (line_outcome_of(err, reply) != LINE_OK)
        return ERR_INVALID;
    const struct redis_reply *config = reply_at(reply, 3), *state = reply_at(reply, 4);
    struct kept fresh = {
        .version = reply_int(reply_at(reply, 2), 0),
        .config_count = reply_len(config),
        .state_count = reply_len(state),
    };
    size_t count = fresh.config_count + fresh.state_count;
    if (fresh.version <= 0 || count > WORDS_MAX || fresh.config_count % 2 || fresh.state_count % 2)
        return ERR_INVALID;
    fresh.words = malloc(count * sizeof *fresh.words + words_bytes(config) + words_bytes(state) + 1);
    if (!fresh.words)
        return ERR_NOMEM;
    char *room = (char *)(fresh.words + count);
    room = words_copy(fresh.words, config, room);
    words_copy(fresh.words + fresh.config_count, state, room);
    kept_finish(kept);
    *kept = fresh;
    return OK;
}

void kept_finish(struct kept *kept)
{
    free(kept->words);
    *kept = (struct kept){.version = 0};
}

/* ---- opening again ---- */

enum err line_reopen(struct line *line, struct text session, const struct kept *kept, const struct line_most *most,
                     int64_t window_ms, size_t server_count, const struct text *servers, redis_callback *callback,
                     void *data)
{
    char numbers[9][NUMBER_SIZE];
    struct text args[9 + WORDS_MAX + REOPEN_SERVERS_MAX];
    size_t count = 0;
    CHECK(server_count <= REOPEN_SERVERS_MAX && window_ms >= 0);
    args[count++] = number(numbers[0], most->epoch);
    args[count++] = number(numbers[1], most->rev);
    args[count++] = number(numbers[2], most->tail > most->head ? most->tail : most->head);
    args[count++] = number(numbers[3], most->head);
    args[count++] = number(numbers[4], most->admitted);
    args[count++] = number(numbers[5], (uint64_t)window_ms);
    args[count++] = number(numbers[6], (uint64_t)kept->version);
    args[count++] = number(numbers[7], kept->config_count);
    for (size_t i = 0; i < kept->config_count; i++)
        args[count++] = kept->words[i];
    args[count++] = number(numbers[8], kept->state_count);
    for (size_t i = 0; i < kept->state_count; i++)
        args[count++] = kept->words[kept->config_count + i];
    for (size_t i = 0; i < server_count; i++)
        args[count++] = servers[i];
    return line_eval(line, &script_reopen, session, count, args, callback, data);
}

/* ---- putting places back ---- */

enum err line_restore(struct line *line, struct text session, bool open, struct text server, bool done, size_t count,
                      const struct lost_place *places, redis_callback *callback, void *data)
{
    CHECK(count <= RESTORE_CHUNK);
    struct text *args = calloc(3 + count * PLACE_ARGS, sizeof *args);
    char(*numbers)[NUMBER_SIZE] = calloc(4 * count + 1, sizeof *numbers);
    enum err err = args && numbers ? OK : ERR_NOMEM;
    if (err == OK) {
        size_t at = 0, digits = 0;
        args[at++] = open ? TEXT("open") : TEXT("shown");
        args[at++] = server;
        args[at++] = done ? TEXT("1") : TEXT("0");
        for (size_t i = 0; i < count; i++) {
            args[at++] = places[i].place;
            args[at++] = number(numbers[digits++], places[i].number);
            args[at++] = number(numbers[digits++], places[i].order);
            args[at++] = number(numbers[digits++], places[i].gen);
            args[at++] = places[i].conn;
            args[at++] = places[i].user;
            args[at++] = number(numbers[digits++], places[i].epoch);
        }
        err = line_eval(line, &script_restore, session, at, args, callback, data);
    }
    free(args);
    free(numbers);
    return err;
}

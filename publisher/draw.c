#include "publisher/draw.h"

#include <inttypes.h>
#include <stdlib.h>

#define PLACE_FIELDS 3
#define PLACE_BYTES (PLACE_ID_LEN + 1 + 20 + 1)

static struct draw_server *server_of(struct draw *draw, struct text name)
{
    for (size_t i = draw->server_count; i > 0; i--) /* neighbours often share a server */
        if (text_is(name, draw->servers[i - 1].name))
            return &draw->servers[i - 1];
    struct draw_server *server = &draw->servers[draw->server_count];
    if (text_copy(server->name, sizeof server->name, name) != OK)
        return NULL;
    buf_init(&server->places, DRAW_CHUNK * PLACE_BYTES);
    draw->server_count++;
    return server;
}

static enum err place_add(struct draw *draw, struct text place, uint64_t ticket, struct text name)
{
    if (!place_id_valid(place) || !server_id_valid(server_name_id(name)))
        return OK; /* no connection: it learns its ticket when it comes back */
    struct draw_server *server = server_of(draw, name);
    if (!server)
        return ERR_INVALID;
    return buf_format(&server->places, "%s%.*s:%" PRIu64, server->places.len ? "," : "", (int)place.len, place.at,
                      ticket);
}

void draw_decode(enum err err, const struct redis_reply *reply, struct draw *draw)
{
    size_t len = reply_len(reply), count = len > PLACE_FIELDS ? len / PLACE_FIELDS - 1 : 0;
    *draw = (struct draw){.outcome = line_outcome_of(err, reply)};
    if (draw->outcome != LINE_OK)
        return;
    draw->epoch = (uint64_t)reply_int(reply_at(reply, 1), 0);
    draw->left = (uint64_t)reply_int(reply_at(reply, 2), 0);
    if (count > DRAW_CHUNK)
        count = DRAW_CHUNK;
    draw->servers = calloc(count ? count : 1, sizeof *draw->servers);
    enum err added = draw->servers ? OK : ERR_NOMEM;
    for (size_t i = 0; added == OK && i < count; i++) {
        size_t at = (i + 1) * PLACE_FIELDS;
        added = place_add(draw, reply_text(reply_at(reply, at)), (uint64_t)reply_int(reply_at(reply, at + 1), 0),
                          reply_text(reply_at(reply, at + 2)));
    }
    if (added != OK)
        draw->outcome = LINE_FAILED;
}

void draw_finish(struct draw *draw)
{
    for (size_t i = 0; i < draw->server_count; i++)
        buf_finish(&draw->servers[i].places);
    free(draw->servers);
    *draw = (struct draw){.outcome = LINE_FAILED};
}

/** What the gateways are told of one chunk of a draw: for each server the places it holds, with their new tickets.
 * Pure. */
#ifndef ANTEROOM_PUBLISHER_DRAW_H
#define ANTEROOM_PUBLISHER_DRAW_H

#include "common/base/buf.h"
#include "common/line/line.h"

#define DRAW_CHUNK 500

struct draw_server {
    char name[SERVER_NAME_SIZE];
    struct buf places; /* "<id>:<ticket>,…" */
};

struct draw {
    enum line_outcome outcome; /* LINE_OK, or why not */
    uint64_t epoch, left;      /* how many are still in the lobby */
    struct draw_server *servers;
    size_t server_count;
};

/** The draw script's answer. DRAW is filled whatever comes; LINE_FAILED without memory: the places are drawn, and the
 *  gateways find out by themselves. */
void draw_decode(enum err err, const struct redis_reply *reply, struct draw *draw);
void draw_finish(struct draw *draw);

#endif

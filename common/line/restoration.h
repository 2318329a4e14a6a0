/** When Redis came back empty or older: what a daemon kept of a session, opening it again in a new epoch, and putting
 * places back as their signed tickets prove. See docs/redis.md, "When data was lost". */
#ifndef ANTEROOM_LINE_RESTORATION_H
#define ANTEROOM_LINE_RESTORATION_H

#include "common/line/line.h"

#include <stdbool.h>

/** The config and a few words of the state (the lottery's seed, the notice) as they were last read. Zeroed: nothing. */
struct kept {
    int64_t version; /* of the config; 0 = nothing is kept */
    size_t config_count, state_count;
    struct text *words; /* config's first; one block with their bytes */
};

/** What is there now: answer of keep, for kept_take. */
MUST_CHECK enum err line_keep(struct line *line, struct text session, redis_callback *callback, void *data);
/** Replaces what KEPT holds. ERR_INVALID (no such answer), ERR_NOMEM: KEPT is as it was. */
MUST_CHECK enum err kept_take(struct kept *kept, enum err err, const struct redis_reply *reply);
void kept_finish(struct kept *kept);

/** The most a daemon knows of a line: highest of each. */
struct line_most {
    uint64_t epoch, rev, tail, head, admitted;
};

#define REOPEN_SERVERS_MAX 256

/** Opens the session in a new epoch, if nobody has yet. SERVERS: who is expected to put connections back (none: the
 * whole window is waited for). Answer: {ok, epoch, phase, opened}, or deleted, none. */
MUST_CHECK enum err line_reopen(struct line *line, struct text session, const struct kept *kept,
                                const struct line_most *most, int64_t window_ms, size_t server_count,
                                const struct text *servers, redis_callback *callback, void *data);

/** A place as its ticket has it. */
struct lost_place {
    struct text place, conn, user;
    uint64_t number, order, epoch; /* number 0: in the lobby */
    uint32_t gen;
};

#define RESTORE_CHUNK 500

/** OPEN: their connections are open at SERVER, else somebody shows a ticket. DONE: SERVER has no more. Answer: {ok,
 * epoch, outcome of each…}, or none, deleted, unavailable. */
MUST_CHECK enum err line_restore(struct line *line, struct text session, bool open, struct text server, bool done,
                                 size_t count, const struct lost_place *places, redis_callback *callback, void *data);

#endif

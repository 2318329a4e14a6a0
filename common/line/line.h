/** The waiting line in Redis as both daemons see it: calls of its scripts and what their answers mean. Nobody else
 * names a key, a script or a field. Answers are borrowed for the callback; every call has a deadline. */
#ifndef ANTEROOM_LINE_LINE_H
#define ANTEROOM_LINE_LINE_H

#include "common/line/keyspace.h"
#include "common/line/script.h"
#include "common/redis/redis.h"

#include <stdint.h>

struct line {
    struct redis *redis;
    char prefix[KEY_PREFIX_MAX + 1];
    uint32_t timeout_ms;
};

/** What a script says about a place or a session. */
enum line_outcome {
    LINE_WAITING,
    LINE_LOBBY,    /* waits for the draw, without a ticket yet */
    LINE_ADMITTED, /* in the outbox: the entry follows by message, keep the stream open */
    LINE_ENTERED,  /* the token is there */
    LINE_PARKED,
    LINE_DEPARTED,
    LINE_OK,
    LINE_GONE,        /* no such place any more */
    LINE_MOVED,       /* another connection has it */
    LINE_STALE,       /* an older generation or connection asks */
    LINE_NONE,        /* no such session in Redis */
    LINE_DELETED,     /* the session's tombstone */
    LINE_LOST,        /* the caller knows more than Redis: data was lost */
    LINE_UNAVAILABLE, /* restoring */
    LINE_CLOSED,
    LINE_SOLD_OUT,
    LINE_FULL,
    LINE_NOT_STARTED,
    LINE_ALREADY_WAITING,
    LINE_ALREADY_ENTERED,
    LINE_NOT_VIRTUAL, /* the session takes no virtual users */
    LINE_FENCED,      /* another publisher owns the session */
    LINE_CONFLICT,    /* another version than expected */
    LINE_IN_USE,      /* people wait */
    LINE_USED,        /* the entry token was redeemed before */
    LINE_FAILED,      /* machinery: no answer or an error; the ERR says which */
};

/** The word the script uses; "failed" for LINE_FAILED. */
const char *line_outcome_text(enum line_outcome outcome);
/** The outcome of a script's word; LINE_FAILED for any other. */
enum line_outcome line_outcome_word(struct text word);
/** The outcome a script's answer begins with. LINE_FAILED for errors and answers that make no sense. */
enum line_outcome line_outcome_of(enum err err, const struct redis_reply *reply);

/** A place as join, resume and status tell it. Texts are borrowed from the reply. */
struct line_place {
    enum line_outcome outcome;
    struct text place; /* its id */
    uint64_t epoch, ticket;
    uint64_t order; /* LINE_LOBBY: its order there, 0 in a lottery */
    uint32_t gen;
    uint64_t position, waiting; /* 1 = next; LINE_LOBBY: 0, and how many are in the lobby */
    uint64_t head, base, rev, tail;
    struct text server_before; /* where its connection was, "" nowhere; and its generation there */
    uint32_t gen_before;
    struct text status;   /* the session's: "open" "paused" "closed", or "" where not told */
    struct text token;    /* LINE_ENTERED */
    int64_t starts_at_ms; /* LINE_NOT_STARTED, LINE_LOBBY; 0 = none */
};

void line_place_decode(enum err err, const struct redis_reply *reply, struct line_place *place);

/** What a caller last knew of a session; scripts answer LINE_LOST rather than act on older data. Zeros: nothing known.
 */
struct line_known {
    uint64_t epoch, tail;
};

struct line_join {
    struct text session, place, user, server, conn,
        mode; /* mode: "stream" "poll" "virtual"; user "": the place is the user */
    struct line_known known;
};
MUST_CHECK enum err line_join(struct line *line, const struct line_join *join, redis_callback *callback, void *data);

struct line_resume {
    struct text session, place, server, conn, mode,
        expect; /* expect "": take it over; else only if conn still is that, or of a generation below GEN */
    uint32_t gen;
    struct line_known known;
};
MUST_CHECK enum err line_resume(struct line *line, const struct line_resume *resume, redis_callback *callback,
                                void *data);
/** SHORT_STAY: nobody was ever given the ticket. */
MUST_CHECK enum err line_park(struct line *line, struct text session, struct text place, struct text conn,
                              struct text user, bool short_stay, redis_callback *callback, void *data);
/** GEN 0: whatever generation it has. */
MUST_CHECK enum err line_leave(struct line *line, struct text session, struct text place, uint32_t gen,
                               redis_callback *callback, void *data);
MUST_CHECK enum err line_status(struct line *line, struct text session, struct text place, bool poll,
                                const struct line_known *known, redis_callback *callback, void *data);

/** One picture of a line: answer of sync. BITS: bit i (from the highest of the first byte) is ticket FIRST + i, set =
 * departed. */
struct line_picture {
    enum line_outcome outcome;
    uint64_t epoch, rev, base, head, tail, waiting, first;
    struct text phase, status, bits, entry_url, entry_method, per_user;
    uint64_t lobby;       /* how many are in it */
    int64_t starts_at_ms; /* 0 = none */
    struct text order;    /* the lobby's: "none" "arrival" "lottery" */
    struct text seed_hash, notice;
    int64_t notice_at_ms; /* 0 = there never was a notice */
    uint64_t admitted;    /* in all */
    int64_t version;      /* of the config */
};
MUST_CHECK enum err line_sync(struct line *line, struct text session, redis_callback *callback, void *data);
void line_picture_decode(enum err err, const struct redis_reply *reply, struct line_picture *picture);

/** What anybody may know of a session: answer of info. Times in ms, 0 = none. */
struct line_info {
    enum line_outcome outcome;
    struct text phase, status, order, seed_hash, seed; /* seed "": not before the draw */
    int64_t starts_at_ms, ends_at_ms, now_ms;
    uint64_t waiting, lobby, drawn_first, drawn_last; /* tickets the draw gave by the seed; 0 = none */
};
MUST_CHECK enum err line_info(struct line *line, struct text session, redis_callback *callback, void *data);
void line_info_decode(enum err err, const struct redis_reply *reply, struct line_info *info);

/** The cheap question "did I miss anything, or did Redis": epoch, rev, phase, tail of a session. Answer: array of four.
 */
MUST_CHECK enum err line_peek(struct line *line, struct text session, redis_callback *callback, void *data);
MUST_CHECK enum err line_reap(struct line *line, struct text session, struct text server, struct text cursor,
                              redis_callback *callback, void *data);
/** PLACE_TOKENS: place, token, when it expires (s) …; COUNT texts. */
MUST_CHECK enum err line_settle(struct line *line, struct text session, size_t count, const struct text *place_tokens,
                                redis_callback *callback, void *data);

/** Any script on one session's keys. */
MUST_CHECK enum err line_eval(struct line *line, const struct line_script *script, struct text session, size_t count,
                              const struct text *args, redis_callback *callback, void *data);
/** Any command on "prefix + key" built by the functions of keyspace.h. */
MUST_CHECK enum err line_command(struct line *line, size_t count, const struct text *args, redis_callback *callback,
                                 void *data);

#endif

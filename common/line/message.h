/** Messages in the gateways' streams, from the publisher or from another gateway; see docs/redis.md, "Messages". Pure.
 *  State is the truth, messages are hints: a lost, repeated or trimmed one is made up for by sync and the sweep. */
#ifndef ANTEROOM_LINE_MESSAGE_H
#define ANTEROOM_LINE_MESSAGE_H

#include "common/line/eta.h"
#include "common/line/keyspace.h"
#include "common/redis/reply.h"

#include <stdbool.h>
#include <stdint.h>

enum message_type {
    MESSAGE_WAITING_STATE,
    MESSAGE_ENTRY,
    MESSAGE_CLOSED,
    MESSAGE_SUPERSEDED,
    MESSAGE_DRAWN,
    MESSAGE_NOTICE,
    MESSAGE_UNKNOWN
};

/** One message. Texts are borrowed. A field that a type does not use is zero. */
struct message {
    enum message_type type;
    struct text session;
    uint64_t epoch;
    /* waiting-state */
    uint64_t rev, base, head, tail, waiting, lobby, admitted;
    struct pace pace; /* as measured; zeros: unknown, or not told by an older publisher */
    struct text phase, status;
    struct text departed; /* "131,+2,+9": first ticket, then gaps, ascending; "*": fetch a picture; "": none */
    /* entry, superseded, closed for one place */
    struct text place;
    uint64_t ticket;
    uint32_t gen;
    struct text token;
    int64_t expires_s, admitted_ms;
    /* closed (everybody with a ticket up to TAIL, or PLACE alone), notice */
    struct text reason, text;
    int64_t at_ms;      /* notice: when it was announced */
    struct text places; /* drawn: "<id>:<ticket>,…" */
};

#define MESSAGE_ARGS_MAX 48

/** The XADD of a message, ready for redis_call. Borrows the message's texts and itself holds the numbers. */
struct message_command {
    struct text args[MESSAGE_ARGS_MAX];
    size_t count;
    char numbers[16][24], key[KEY_SIZE];
    size_t number_count;
};

/** SERVER is the stream's owner as "<id>.<boot>" or "<id>". NOMKSTREAM: the stream of a removed server is not made
 * again. */
void message_encode(struct message_command *command, const char *prefix, struct text server,
                    const struct message *message);

/** FIELDS is the array of names and values of one stream entry. Unknown fields and types are tolerated (type
 *  MESSAGE_UNKNOWN). ERR_INVALID where something needed is missing or malformed. */
MUST_CHECK enum err message_decode(const struct redis_reply *fields, struct message *message);

/** Walks a drawn list: gives each place (borrowed) and its ticket. False at the end or where the list is malformed. */
bool drawn_next(struct text *rest, struct text *place, uint64_t *ticket);

/** Walks a departed list: gives each ticket. Start with *LAST = 0. False at the end; *BAD is set on a malformed list.
 */
bool departed_next(struct text *rest, uint64_t *last, uint64_t *ticket, bool *bad);
/** Writes TICKETS (sorted here, ascending) as a departed list. ERR_TOO_BIG where SIZE is too small: say "*" then. */
MUST_CHECK enum err departed_write(char *dst, size_t size, uint64_t *tickets, size_t count);

#endif

/** One console's event stream: which sessions it looks at, what of them it was told, and how fast it reads. Nothing is
 *  queued for it but the frame being written: a slow reader is told the newest of each when it has room. */
#ifndef ANTEROOM_PUBLISHER_SUBSCRIBER_H
#define ANTEROOM_PUBLISHER_SUBSCRIBER_H

#include "common/base/buf.h"
#include "common/base/list.h"
#include "publisher/actor.h"
#include "publisher/watch.h"

#define SUBSCRIBER_SESSIONS_MAX 100
#define SUBSCRIBER_LOOKS_MAX (2 * SUBSCRIBER_SESSIONS_MAX) /* those that leave are there until it is told */
#define SUBSCRIBER_OUT_MAX (256 * 1024)                    /* the longest event fits */
#define SUBSCRIBER_SILENCE_MS 15000

struct http_stream;
struct watches;

/** A text that every subscriber is told when it changes; SEQ 0: nothing yet. */
struct bulletin {
    const char *event;
    char *text;
    uint64_t seq;
};
#define BULLETINS 2

struct subscriber {
    struct list link; /* in the events' list */
    struct watches *watches;
    const struct bulletin *bulletins; /* BULLETINS of them */
    uint64_t bulletins_sent[BULLETINS];
    struct http_stream *stream; /* NULL before it opens */
    struct actor actor;
    bool named; /* it said which sessions; else the first ones by id */
    struct look {
        struct watch *watch;
        uint64_t sent;       /* its seq when told; 0: never */
        const char *leaving; /* why it is not looked at any more; NULL: it is */
    } looks[SUBSCRIBER_LOOKS_MAX];
    size_t count, next;
    uint64_t sent_ms;
    struct buf out; /* what was begun and is not written */
};

/** NULL without memory. WATCHES and BULLETINS are borrowed. */
struct subscriber *subscriber_create(struct watches *watches, const struct bulletin *bulletins,
                                     const struct actor *actor);
/** Its stream is closed, or was never opened. */
void subscriber_destroy(struct subscriber *subscriber);
/** One more session. ERR_TOO_BIG past SUBSCRIBER_SESSIONS_MAX, ERR_INVALID for one it looks at already, ERR_NOMEM. */
MUST_CHECK enum err subscriber_look(struct subscriber *subscriber, struct text session);
/** From now on it looks at these COUNT (≤ SUBSCRIBER_SESSIONS_MAX), in order of their bytes; it is told which it does
 * not see any more, and by EXISTS why. What finds no room or memory comes with the next call. */
void subscriber_look_at(struct subscriber *subscriber, const struct text *sessions, size_t count,
                        bool (*exists)(const void *data, struct text session), const void *data);
/** Tells what is new, as far as the socket takes it; a comment when there was nothing for SUBSCRIBER_SILENCE_MS. False:
 * memory is short, drop it. */
MUST_CHECK bool subscriber_pump(struct subscriber *subscriber, uint64_t now_ms);
/** How texts with ids are ordered: by their bytes. For qsort and bsearch over struct text. */
int subscriber_compare(const void *a, const void *b);

#endif

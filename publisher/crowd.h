/** Virtual crowds: for a rehearsal this publisher puts virtual places into a line, at a pace, through the same script
 * as everybody else. One crowd a session; it ends when all are made, when the session takes them no more, or with this
 *  process. A join whose answer never came counts as made: rather one too few than one too many. */
#ifndef ANTEROOM_PUBLISHER_CROWD_H
#define ANTEROOM_PUBLISHER_CROWD_H

#include "common/base/err.h"
#include "common/base/list.h"
#include "common/line/keyspace.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define CROWD_COUNT_MAX 1000000
#define CROWD_PER_SECOND_MAX 20000
#define CROWDS_MAX 100   /* of this publisher */
#define CROWD_WINDOW 512 /* joins of one crowd under way: ticks and others wait behind no more than these */
#define CROWD_STEP_MS 20

struct publisher;

/** How many are to be made by when. Pure. */
struct crowd_plan {
    uint32_t count, per_second;
    uint32_t made; /* carried out, or perhaps */
    uint32_t under_way;
    double credit; /* joins that are due; at most a second's worth: nothing is made up for after a standstill */
    uint64_t seen_ms;
};

/** How many joins to send at NOW_MS. They are under way from then on. */
uint32_t crowd_plan_due(struct crowd_plan *plan, uint64_t now_ms);
/** One of them came back. MADE: not if it surely was not carried out. */
void crowd_plan_done(struct crowd_plan *plan, bool made);

struct crowd {
    struct list link;
    struct crowds *crowds;
    char session[SESSION_ID_MAX + 1];
    struct crowd_plan plan;
    uint32_t waiting, refused, unsure; /* of the made ones: what became of them at the join */
    uint64_t epoch;                    /* of the line it went into first; 0: none yet */
    bool started;
    const char *ending; /* why no more are sent; NULL: it goes on */
};

struct crowds {
    struct publisher *publisher;
    struct list all;
    size_t count;
    uv_timer_t timer; /* runs while there is a crowd */
};

void crowds_init(struct crowds *crowds, struct publisher *publisher);
/** All end: no more joins; those under way may come back. */
void crowds_stop(struct crowds *crowds);
void crowds_close(struct crowds *crowds);

/** The session's crowd here; NULL. */
struct crowd *crowd_find(const struct crowds *crowds, struct text session);
/** Takes the session's one slot; nothing is sent before crowd_start. ERR_BUSY: CROWDS_MAX. ERR_NOMEM. The session has
 *  none yet. */
MUST_CHECK enum err crowd_create(struct crowds *crowds, struct text session, uint32_t count, uint32_t per_second,
                                 struct crowd **out);
void crowd_start(struct crowd *crowd);
/** For one that was not started. */
void crowd_cancel(struct crowd *crowd);

#endif

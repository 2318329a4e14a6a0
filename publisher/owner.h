/** One session as this publisher sees it: when its next tick is due, what the ticks before found, and whether the
 * session is ours at all. A session never has two ticks at once here; across publishers the lease in the admit script
 * sees to it. */
#ifndef ANTEROOM_PUBLISHER_OWNER_H
#define ANTEROOM_PUBLISHER_OWNER_H

#include "common/base/map.h"
#include "publisher/admission.h"
#include "publisher/recovery.h"
#include "publisher/pace.h"
#include "publisher/promise.h"

#include <uv.h>

struct publisher;
struct tick;

struct owner {
    struct map_node node; /* in the catalog, until owner_drop */
    struct publisher *publisher;
    uv_timer_t timer;
    char session[SESSION_ID_MAX + 1];
    struct tick *tick; /* under way; NULL = idle */
    bool again;        /* the doorbell rang meanwhile */
    bool owned, fenced, lost_told;
    bool listed;       /* in the set of sessions when last read */
    uint64_t due_ms;   /* of the next tick */
    uint64_t begun_ns; /* of the last one */

    struct line_rev known, announced;
    struct recovery recovery;          /* what is kept in case Redis loses it */
    char (*settled)[PLACE_ID_LEN + 1]; /* to be confirmed by the next tick; room for ADMIT_POPS_MAX */
    size_t settled_count;
    char (*servers)[SERVER_NAME_SIZE]; /* who has connections of this session */
    size_t server_count;
    char held[16];
    char load_key[LOAD_KEY_MAX + 1]; /* where the site reports its load; "": the session is not adaptive */
    struct pace_meter pace;
    struct promise promise; /* how right the ETAs are */
};

/** Ticks at once if it can. ERR_NOMEM. */
MUST_CHECK enum err owner_create(struct publisher *publisher, struct text session, struct owner **out);
/** Out of the catalog already. Frees it once its timer is closed; a tick under way ends by itself. */
void owner_drop(struct owner *owner);
/** Something happened: tick at once, or once more after the tick under way. */
void owner_ring(struct owner *owner);

/** From the tick: the line's answer, before anything is told; with LINE_OK the session is ours. */
void owner_admitted(struct owner *owner, const struct admission *admission);
/** From the recovery: the session is open again, or could not be opened. */
void owner_reopened(struct owner *owner, enum line_outcome outcome);
/** From the tick, its last act: PLACE is settled and told. */
void owner_settled(struct owner *owner, const char *place);
/** From the tick, its last act but for freeing itself: it is over. TOLD: the announcement, if any, reached every
 * stream. COMPLETE: nothing failed. Takes the servers out of ADMISSION. */
void owner_ticked(struct owner *owner, struct admission *admission, bool told, bool complete);

/** Does SERVER have connections of this session, as far as we know, and is the session ours? */
bool owner_serves(const struct owner *owner, struct text server);
/** SERVER's places are parked: it is not among the servers any more. */
void owner_forget_server(struct owner *owner, struct text server);

#endif

/** Redis lost data of a session that is served here: this gateway opens it again if nobody has, and puts back its open
 *  connections with the numbers of their signed tickets, a chunk at a time. Until a connection's place is confirmed in
 * the session's epoch nothing is believed that Redis says of it. */
#ifndef ANTEROOM_GATEWAY_RESTORATION_H
#define ANTEROOM_GATEWAY_RESTORATION_H

#include "common/line/restoration.h"

struct gateway;
struct session;

struct restoration {
    struct kept kept;      /* what to open it with */
    uint64_t tail_seen;    /* highest ticket an answer told in the epoch of the last picture */
    uint64_t head_seen;    /* highest ticket whose entry was seen */
    uint64_t admitted;     /* as last announced */
    uint64_t opened_epoch; /* the epoch that our knowledge went into */
    bool keeping;          /* a question what to keep is under way */
    bool opening;          /* a call of reopen is under way */
    bool putting;          /* a chunk is under way */
};

void restoration_finish(struct restoration *restoration);
/** A call that will come back to the session is under way. */
static inline bool restoration_busy(const struct restoration *restoration)
{
    return restoration->keeping || restoration->opening || restoration->putting;
}
/** Redis knows less than we do: the session is opened again, unless somebody did already. */
void restoration_open(struct session *session, const char *why);
/** A picture was taken: what it has is kept, and connections of an older epoch are put back. */
void restoration_picture(struct session *session, const struct line_picture *picture);
/** Puts back who is left of an older epoch; also at each sweep. */
void restoration_put(struct session *session);

#endif

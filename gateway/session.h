/** What this gateway knows of a session it serves: the line's picture, the operator's settings that frames need, and
 * who is connected here. Kept as long as the process lives, or until the session is deleted. */
#ifndef ANTEROOM_GATEWAY_SESSION_H
#define ANTEROOM_GATEWAY_SESSION_H

#include "common/base/map.h"
#include "common/line/line.h"
#include "common/line/message.h"
#include "common/line/ticket.h"
#include "gateway/lobby.h"
#include "gateway/restoration.h"
#include "gateway/positions.h"
#include "gateway/roster.h"

#include <stdbool.h>

#define SESSIONS_MAX 10000
#define NOTICE_TEXT_MAX 1000 /* bytes */

struct gateway;
struct sse;

struct session {
    struct map_node node; /* in gateway.sessions */
    struct gateway *gateway;
    char id[SESSION_ID_MAX + 1];
    struct text name; /* of id */
    struct positions positions;
    struct roster roster; /* of places with a ticket */
    struct lobby lobby;
    struct restoration restoration;
    bool restoring;          /* Redis lost data: nobody is told a position until its window ends */
    uint64_t restored_epoch; /* we have put back everybody in this epoch */
    bool known;              /* positions hold a picture */
    bool syncing;            /* a sync is under way */
    bool again;              /* and another is wanted when it is done */
    bool paused;
    bool many; /* perUser: each connection its own place */
    char entry_url[1024], entry_method[16];
    char closing[16]; /* why everybody up to closing_tail was let go, "" = nobody was */
    uint64_t closing_tail, epoch_seen;
    struct pace pace;
    char *notice; /* the operator's word as JSON text, "" where it was taken back; NULL: there never was one */
    int64_t notice_at_ms;
    uint32_t notice_seq; /* counts notices; a place's `noticed` is the one it was told */
    /* push */
    bool pushing;        /* a walk over everybody is under way */
    bool push_wanted;    /* and another one after it */
    bool near_wanted;    /* those at the front first */
    size_t cursor;       /* row the walk goes on at */
    uint64_t walk_front; /* positions the walk's count belongs to */
    struct positions_walk walk;
    uint32_t changed_s;    /* when something shown to everybody last changed */
    uint32_t refresh_s;    /* when those who were not told since then are; 0 = not */
    uint64_t pushed_ms;    /* when the last whole walk began */
    struct list push_link; /* in push's list while there is work */
    size_t audited;        /* row the rotating audit goes on at */
    double audit_credit;   /* lookups it may make here */
    bool peeking;          /* a question about (epoch, rev) is under way, asked when we knew: */
    uint64_t peek_epoch, peek_rev, peek_tail;
    char *info; /* what /api/queue/info last said, but for the time; NULL */
    uint64_t info_ms;
    struct metric_series *connections;
};

void sessions_init(struct gateway *gateway);
void sessions_finish(struct gateway *gateway);
struct session *session_find(struct gateway *gateway, struct text id);
/** Found or made. NULL without memory or past SESSIONS_MAX. Only for ids that Redis knows. */
struct session *session_get(struct gateway *gateway, struct text id);
/** Writes the notice as an event; one that was taken back only for who may have heard it (not NEWCOMER). */
void session_notice(const struct session *session, bool newcomer, struct sse *sse);
/** What scripts are told we know; zeros where SESSION is NULL. */
struct line_known session_known(const struct session *session);
/** The same, or what TICKET of this session proves where that is more. */
struct line_known session_known_by(const struct session *session, const struct ticket *ticket);
/** Takes a picture into the session (answer of sync). True when it was news. */
bool session_take_picture(struct session *session, const struct line_picture *picture);
/** Fetches a picture; when it is there everybody's position is pushed. */
void session_sync(struct session *session);
/** Redis has its tombstone: everybody here is told closed, and nothing is known of it any more. */
void session_deleted(struct session *session);
/** A message for this session. */
void session_message(struct session *session, const struct message *message);
/** Everybody with a ticket up to TAIL is let go. Who may have been admitted before is looked up first: an entry message
 *  can be lost, and `closed` would end that visitor's stream for good. */
void session_close_all(struct session *session, struct text reason, uint64_t tail);
/** The reason for a place that is no more. */
struct text session_closing(const struct session *session, uint64_t ticket);

#endif

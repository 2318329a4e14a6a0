/** A place whose connection is here: one open stream. Made by subscribe, ended by exactly one of the place_end
 * functions. */
#ifndef ANTEROOM_GATEWAY_PLACE_H
#define ANTEROOM_GATEWAY_PLACE_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/http/stream.h"
#include "common/line/line.h"
#include "common/line/token.h"

#include <stdbool.h>
#include <stdint.h>

struct gateway;
struct session;
struct sse;

struct place {
    struct map_node node;  /* in gateway.places */
    struct list heartbeat; /* in push's ring */
    struct list unsure;    /* in sweep's list: does Redis still say that it is here? */
    struct http_stream *stream;
    struct session *session;
    uint64_t ticket, epoch; /* ticket 0: in the lobby, in ORDER there (0 in a lottery) */
    uint64_t order;
    uint64_t conn; /* the n of "<boot>:<n>" */
    uint32_t gen;
    uint32_t row; /* index in the session's roster, or in its lobby's */
    uint32_t
        shown; /* position last written, 0 none: never rises within an epoch; in the lobby the version of its frame */
    uint32_t noticed;   /* the session's notice that was written */
    uint32_t first;     /* position at the beginning, for the progress */
    uint32_t told_s;    /* when a state was last written, in loop seconds */
    uint32_t sent_s;    /* when something was last written, in loop seconds */
    uint32_t overdue_s; /* since when the ticket is behind the head without an entry; 0 = it is not */
    bool admitted : 1;  /* in the outbox: an entry is coming */
    bool asked : 1;     /* a lookup is under way */
    bool dirty : 1;     /* a state frame was put off as the socket was full */
    bool paused_shown : 1;
    bool renew : 1; /* the next frame brings a new resume ticket as its id */
    char id[PLACE_ID_LEN];
    char user[]; /* terminated, "" where the place is the user */
};

static inline struct text place_id(const struct place *place)
{
    return (struct text){place->id, PLACE_ID_LEN};
}

/** "<boot>:<n>" into DST. */
#define CONN_SIZE (BOOT_LEN + 24)
struct text place_conn(const struct gateway *gateway, uint64_t conn, char dst[CONN_SIZE]);

void places_init(struct gateway *gateway);
struct place *place_find(struct gateway *gateway, struct text id);
/** In the registry, the roster and the heartbeat ring, from an answer to join or resume; no stream yet (the caller
 * opens it with place_stream_owner and sets it). An older connection of the same place on this gateway is told
 * superseded. NULL without memory. */
struct place *place_add(struct gateway *gateway, struct session *session, const struct line_place *answer,
                        uint64_t conn, const char *user);
/** The place got a new ticket number or generation (taken back after a freeze). */
void place_update(struct gateway *gateway, struct place *place, const struct line_place *answer);
/** The draw gave PLACE its ticket: out of the lobby, into the line. Its next frame brings the new resume ticket. */
void place_draw(struct place *place, uint64_t ticket);
static inline bool place_in_lobby(const struct place *place)
{
    return place->ticket == 0;
}
/** DATA of the stream is the place. A lost connection parks the place. */
extern const struct http_stream_owner place_stream_owner;

/** Ends: the terminal event is written, the stream ends, the place is forgotten here (Redis already knows). */
void place_end_entry(struct place *place, struct text token, int64_t admitted_ms, const char *how);
void place_end_closed(struct place *place, struct text reason);
void place_end_superseded(struct place *place);
/** Ends the stream so that the client comes back with its ticket after RETRY_MS; parks the place. */
void place_end_retry(struct place *place, uint32_t retry_ms);
/** Only forgets it (no stream was opened). */
void place_forget(struct place *place);

/** The resume ticket as it stands. ERR as token_sign_ticket. */
MUST_CHECK enum err place_ticket(const struct place *place, char *dst, size_t size);

#endif

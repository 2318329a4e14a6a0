/** Somebody arrives: the conversation with the line for a stream or a POST join. It owns itself; a client that goes
 * away detaches from it, and a place nobody will hear of is parked, whatever the answer was.
 *
 *                       ┌──(put back)── RESTORE ◄─┐ a ticket of an older epoch
 *      SYNC ──(known)──► RESUME ──(gone)──────────┴► JOIN ──► answered     without a ticket SYNC leads to JOIN;
 *        └─────────────────┴──(any other answer)───────────► answered     SYNC is skipped for a known session */
#ifndef ANTEROOM_GATEWAY_ARRIVAL_H
#define ANTEROOM_GATEWAY_ARRIVAL_H

#include "common/line/line.h"
#include "gateway/visitor.h"

struct gateway;
struct session;
struct arrival;

/** The answer is waiting, admitted or entered; all others were refused already. Consumes the request. False: nobody
 * took the place (out of memory): it is parked. */
typedef bool arrival_done(struct arrival *arrival, struct session *session, const struct line_place *answer);

struct arrival {
    struct gateway *gateway;
    struct http_request *request; /* NULL: the client went away */
    enum { ARRIVAL_SYNC, ARRIVAL_RESUME, ARRIVAL_RESTORE, ARRIVAL_JOIN } state;
    bool restored; /* its ticket was tried on data that was lost */
    struct visitor visitor;
    uint64_t conn;
    const char *mode; /* "stream" "poll" "virtual" */
    char place[PLACE_ID_LEN + 1];
    arrival_done *done;
};

/** Starts it, or refuses. VISITOR was read from REQUEST. */
void arrival_begin(struct gateway *gateway, struct http_request *request, const struct visitor *visitor,
                   const char *mode, arrival_done *done);

/** The position the place began with, for the progress: as its ticket says, else that of ANSWER. */
uint32_t arrival_first(const struct arrival *arrival, const struct line_place *answer);

#endif

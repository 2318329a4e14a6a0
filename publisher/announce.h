/** What the gateways are told of a tick, as messages. Pure. Texts are borrowed from the admission. */
#ifndef ANTEROOM_PUBLISHER_ANNOUNCE_H
#define ANTEROOM_PUBLISHER_ANNOUNCE_H

#include "common/line/message.h"
#include "publisher/admission.h"

#define DEPARTED_SIZE 8192
/** A tail above every ticket: everybody is meant. */
#define TAIL_ALL ((uint64_t)1 << 53)

/** The departures as a list into DST, or "*" where they do not fit. Sorts them in ADMISSION. */
struct text announce_departed(struct admission *admission, char dst[DEPARTED_SIZE]);
struct message announce_state(const struct admission *admission, struct text session, const struct pace *pace,
                              struct text departed);
struct message announce_closed(uint64_t epoch, struct text session, struct text reason, uint64_t tail);
/** PLACES as draw.h writes them. */
struct message announce_drawn(uint64_t epoch, struct text session, struct text places);
/** TEXT "": the notice is taken back. */
struct message announce_notice(uint64_t epoch, struct text session, struct text text, int64_t at_ms);
/** The outbox place PLACE got TOKEN (as stored; its times are what the visitor is told). ERR_INVALID: not a token. */
MUST_CHECK enum err announce_entry(const struct admission *admission, struct text session,
                                   const struct outbox_place *place, struct text token, struct message *message);
/** How many of the departed went by themselves or with the closing reason: all but those whose grace had passed. 0
 * while that is not known. */
uint64_t announce_left(const struct admission *admission);

#endif

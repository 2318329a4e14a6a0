/** One tick of one session: admit, settle, publish. It owns itself and ends by itself; its owner hears of it by
 *  owner_admitted, owner_settled and, last, owner_ticked. A crash or a failure anywhere leaves the rest to the next
 * tick. */
#ifndef ANTEROOM_PUBLISHER_TICK_H
#define ANTEROOM_PUBLISHER_TICK_H

struct owner;
struct publisher;
struct tick;

/** NULL when it could not begin (no connection, no memory); nothing is told then. */
struct tick *tick_start(struct publisher *publisher, struct owner *owner);
/** The owner is going away: nothing more is told to it. */
void tick_detach(struct tick *tick);

#endif

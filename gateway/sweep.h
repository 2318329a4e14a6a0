/** What makes up for lost messages: every SWEEP_S each session's (epoch, rev) is compared with Redis, connections that
 * are behind the head without an entry are looked up, and a few of the others too, in turn. After a freeze or a
 * vanished stream every open connection is taken back, with its conn as the condition. */
#ifndef ANTEROOM_GATEWAY_SWEEP_H
#define ANTEROOM_GATEWAY_SWEEP_H

#include "common/base/list.h"

#include <stddef.h>
#include <stdint.h>

#define SWEEP_S 2
#define SWEEP_LOOKUPS 1024 /* at once */
#define SWEEP_AUDIT 32     /* places looked up in turn each time, and one of 64 of all */

struct gateway;
struct place;

struct sweep {
    struct gateway *gateway;
    struct list unsure; /* places to look up; one whose lookup failed is put back */
    size_t under_way;   /* lookups */
    double audit;       /* lookups the audit may still make */
    uint32_t seconds;
};

void sweep_init(struct sweep *sweep, struct gateway *gateway);
/** Each second. */
void sweep_second(struct sweep *sweep);
/** Redis is there again: all sessions are compared at once. */
void sweep_compare(struct sweep *sweep);
/** Soon takes PLACE back for its own connection, or learns why not and ends it. Repeated until there is an answer. */
void sweep_look_up(struct sweep *sweep, struct place *place);
void sweep_resynchronise(struct sweep *sweep, const char *why);

#endif

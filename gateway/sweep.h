/** What makes up for lost messages: every SWEEP_S each session's (epoch, rev) is compared with Redis, connections that
 * are behind the head without an entry are looked up, and a few of the others too, in turn. After a freeze or a
 * vanished stream every open connection is taken back, with its conn as the condition. */
#ifndef ANTEROOM_GATEWAY_SWEEP_H
#define ANTEROOM_GATEWAY_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#define SWEEP_S 2
#define SWEEP_LOOKUPS 1024 /* at once */
#define SWEEP_AUDIT 32     /* places of each session looked up in turn */

struct gateway;
struct place;

struct sweep {
    struct gateway *gateway;
    size_t under_way; /* lookups */
    uint32_t seconds;
};

void sweep_init(struct sweep *sweep, struct gateway *gateway);
/** Each second. */
void sweep_second(struct sweep *sweep);
/** Takes PLACE back for its own connection, or learns why not and ends it. */
void sweep_look_up(struct sweep *sweep, struct place *place);
void sweep_resynchronise(struct sweep *sweep, const char *why);

#endif

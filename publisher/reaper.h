/** Looks at the gateways' heartbeats each second and parks the places of dead ones, in the sessions we own; when no
 * session of ours lists one any more it is taken off the register. */
#ifndef ANTEROOM_PUBLISHER_REAPER_H
#define ANTEROOM_PUBLISHER_REAPER_H

#include "publisher/pulse.h"

struct publisher;

struct reaper {
    struct publisher *publisher;
    struct pulses pulses;
    bool asking;
};

void reaper_init(struct reaper *reaper, struct publisher *publisher);
void reaper_finish(struct reaper *reaper);
void reaper_second(struct reaper *reaper);

enum condemnation { CONDEMNED, CONDEMN_ALIVE, CONDEMN_UNKNOWN };
/** An operator says a server is dead. NAME: "<id>.<boot>", or an id: all its boots that do not beat. */
enum condemnation reaper_condemn(struct reaper *reaper, struct text name);

#endif

/** Which gateways are dead, judged by their heartbeats without comparing clocks: a value that has not changed for
 *  PULSE_STILL_MS of this publisher's own ticking time. A step between two looks counts PULSE_STEP_MS at most, so a
 *  publisher that was frozen does not wake up and bury everybody. Pure. */
#ifndef ANTEROOM_PUBLISHER_PULSE_H
#define ANTEROOM_PUBLISHER_PULSE_H

#include "common/base/map.h"
#include "common/line/keyspace.h"

#include <stdbool.h>

#define PULSE_STILL_MS 5000
/* One that no session of ours lists: those who own the sessions it serves park its places before it leaves the
 * register. */
#define PULSE_UNSERVED_MS 10000
#define PULSE_ABSENT_MS 3000 /* a server with connections that is not registered (any more) */
#define PULSE_STEP_MS 1500
#define PULSES_MAX 10000

/** One "<id>.<boot>". */
struct pulse {
    struct map_node node;
    char name[SERVER_NAME_SIZE];
    int64_t beat_ms; /* the heartbeat's value, Redis time */
    uint32_t still_ms, absent_ms;
    bool present;   /* registered when last looked */
    bool served;    /* a session of ours lists it */
    bool condemned; /* an operator says it is dead */
    bool busy;      /* its places are being parked */
};

struct pulses {
    struct map by_name;
    uint64_t looked_ms;
    uint32_t step_ms;
    bool looking;
};

void pulses_init(struct pulses *pulses);
void pulses_finish(struct pulses *pulses);
/** A look: begin, then seen for each registered one and served for each that a session lists, then end. */
void pulses_begin(struct pulses *pulses, uint64_t now_ms);
void pulses_seen(struct pulses *pulses, struct text name, int64_t beat_ms);
void pulses_served(struct pulses *pulses, struct text name);
/** Forgets what is neither registered nor listed. Gives how many are registered and beat. */
size_t pulses_end(struct pulses *pulses);
struct pulse *pulse_find(const struct pulses *pulses, struct text name);
/** NULL, or why: "silent" "absent" "replaced" "condemned". */
const char *pulse_dead(const struct pulses *pulses, const struct pulse *pulse);
/** Another boot of its id is registered and beats. */
bool pulse_replaced(const struct pulses *pulses, const struct pulse *pulse);

#endif

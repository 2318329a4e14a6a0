/** Is this Redis fit to hold a line? Asked each time the command connection is up, before any tick: version, run id,
 *  eviction, persistence. The first time an unfit one ends the program; later it is an error line only, as by then
 * people are waiting in it. */
#ifndef ANTEROOM_PUBLISHER_STARTUP_H
#define ANTEROOM_PUBLISHER_STARTUP_H

#include <stdbool.h>

struct publisher;

struct startup {
    struct publisher *publisher;
    char run_id[48]; /* of the Redis we are connected to */
    unsigned asked;  /* answers missing */
    bool passed, failed, no_aof;
    unsigned memory_age_s;
};

void startup_init(struct startup *startup, struct publisher *publisher);
/** The connection is up: asks, then makes the publisher ready or stops it. */
void startup_check(struct startup *startup);
/** The connection is down. */
void startup_forget(struct startup *startup);
/** Reads Redis' memory figures for the metrics now and then. */
void startup_second(struct startup *startup);

#endif

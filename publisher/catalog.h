/** The sessions there are, each with its owner object here. The set in Redis is read again every few seconds, when the
 *  doorbell rings for an unknown one, and as soon as the connection is up. */
#ifndef ANTEROOM_PUBLISHER_CATALOG_H
#define ANTEROOM_PUBLISHER_CATALOG_H

#include "common/base/map.h"
#include "common/base/text.h"

#include <stdbool.h>

/** More sessions than this are not looked after (an error line says so). */
#define CATALOG_MAX 20000

struct owner;
struct publisher;

struct catalog {
    struct publisher *publisher;
    struct map owners; /* struct owner by session */
    bool asking, again, told_full;
    unsigned age_s;
};

void catalog_init(struct catalog *catalog, struct publisher *publisher);
/** Drops all owners. */
void catalog_finish(struct catalog *catalog);
/** NULL when it is unknown. */
struct owner *catalog_find(const struct catalog *catalog, struct text session);
/** Reads the set again soon; every session that is new ticks at once. */
void catalog_refresh(struct catalog *catalog);
void catalog_second(struct catalog *catalog);
/** The session surely exists: it is looked after from now on and ticks at once. */
void catalog_ring(struct catalog *catalog, struct text session);
/** Every session ticks at once: Redis is back. */
void catalog_wake(struct catalog *catalog);
/** OWNER is gone afterwards, and its metrics. */
void catalog_drop(struct catalog *catalog, struct owner *owner);
/** No tick is under way. */
bool catalog_idle(const struct catalog *catalog);

#endif

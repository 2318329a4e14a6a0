/** This gateway among the others: its id, its boot, the lock against a twin, its heartbeat, and Redis' clock as seen
 * here. */
#ifndef ANTEROOM_GATEWAY_MEMBERSHIP_H
#define ANTEROOM_GATEWAY_MEMBERSHIP_H

#include "common/line/keyspace.h"
#include "common/redis/redis.h"

#include <stdbool.h>
#include <stdint.h>

#define BEAT_MS 1000       /* heartbeat in `servers`, and renewal of the lock */
#define BEAT_LIMIT_MS 5000 /* another gateway's heartbeat is fresh when younger */
/* A silence after which a publisher may have parked our places (it waits 5 s by its own ticks; answers may be late). */
#define BEAT_GAP_MS 3000
#define LOCK_MS 5000
#define LOCK_WAIT_MS 6000 /* how long a twin waits before it refuses to start */

struct gateway;

struct membership {
    struct gateway *gateway;
    char id[SERVER_ID_MAX + 1], boot[BOOT_LEN + 1], name[SERVER_NAME_SIZE];
    bool joined;             /* lock held, registered: connections are taken from now on */
    bool asking;             /* a lock call is under way */
    bool ending;             /* the id is another's: this process goes away */
    uint64_t started_ms;     /* monotonic */
    uint64_t beat_ms;        /* when the last heartbeat was confirmed */
    bool others;             /* another gateway's heartbeat was fresh when last seen */
    int64_t redis_offset_ms; /* Redis time − monotonic time */
};

/** Draws the boot. ID was checked. */
void membership_init(struct membership *membership, struct gateway *gateway, const char *id);
struct text membership_name(const struct membership *membership);
/** Each BEAT_MS while Redis is there: takes or renews the lock, then the heartbeat. */
void membership_beat(struct membership *membership);
/** Redis' clock, estimated from its last answer. */
int64_t membership_redis_now_ms(const struct membership *membership);
/** Leaves: the heartbeat and the lock go. DONE follows, also when Redis is away. */
void membership_leave(struct membership *membership, redis_callback *done, void *data);

#endif

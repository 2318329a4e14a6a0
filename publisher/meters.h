/** The publisher's metrics: one table. No label holds a user, a place, an address or an unknown session id. */
#ifndef ANTEROOM_PUBLISHER_METERS_H
#define ANTEROOM_PUBLISHER_METERS_H

#include "common/base/meter_shared.h"
#include "common/base/text.h"
#include "publisher/promise.h"

enum publisher_meter {
    METER_WAITING = METER_SHARED,
    METER_LOBBY,
    METER_PARKED,
    METER_ACTIVE,
    METER_STOCK_LEFT,
    METER_ETA,
    METER_ETA_ERROR,
    METER_ADMITTED,
    METER_DEPARTED,
    METER_HELD,
    METER_OWNER,
    METER_TICK_DURATION,
    METER_TICK_LATE,
    METER_LOAD_TPS,
    METER_LOAD_AGE,
    METER_SERVERS,
    METER_REDIS_MEMORY,
    METER_REDIS_MEMORY_MAX,
    METER_COUNT,
};

MUST_CHECK enum err publisher_meters_create(struct metrics **metrics);
/** What a tick of a session we own found, and the pace after it. */
void publisher_meters_session(struct metrics *metrics, const char *session, const struct admission *admission,
                              const struct pace *pace);
/** How wrong the ETAs were; nothing before one was put to the test. */
void publisher_meters_promise(struct metrics *metrics, const char *session, const struct promise *promise);
/** The session is another publisher's: only session_owner stays, at 0. */
void publisher_meters_fenced(struct metrics *metrics, const char *session);

#endif

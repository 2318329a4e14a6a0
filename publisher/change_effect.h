/** What a change is called, what it leaves behind, and who is told of it. */
#ifndef ANTEROOM_PUBLISHER_CHANGE_EFFECT_H
#define ANTEROOM_PUBLISHER_CHANGE_EFFECT_H

#include "publisher/change.h"

struct change_row {
    const char *operation; /* of the configure script */
    const char *action;    /* for the log and the audit */
    const char *status;    /* the config's status this sets; NULL */
};

const struct change_row *change_row(const struct change *change);
/** The row's action, or "create". */
const char *change_action(const struct change *change);
/** The config as it will be: what was found with the body's fields, where null takes one back to its default. *AFTER is
 * a new reference, NULL for a deletion. ERR_NOMEM. */
MUST_CHECK enum err change_after(const struct change *change, json_t **after);
/** The line of the log. AFTER may be NULL. */
void change_log(const struct change *change, const json_t *after);
/** Tells every publisher, as the owner may be another. A bell that is not heard costs one tick. */
void change_ring(const struct change *change);
/** Gateways are told the notice. REPLY is the configure script's. */
void change_announced(const struct change *change, const struct redis_reply *reply);
/** Why the change was refused with session-in-use. */
const char *change_in_use(const struct change *change);
/** The session is gone: its gateways are told, and it is looked after no more. REPLY is the configure script's. */
void change_deleted(const struct change *change, const struct redis_reply *reply);

#endif

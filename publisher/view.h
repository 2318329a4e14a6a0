/** Sessions as the admin API shows them: config, version and live figures, read from Redis in one go. */
#ifndef ANTEROOM_PUBLISHER_VIEW_H
#define ANTEROOM_PUBLISHER_VIEW_H

#include "common/base/err.h"
#include "common/base/text.h"

#include <jansson.h>

struct publisher;

/** ITEMS: one a session asked for, in that order, JSON null for an unknown one; a reference for the callee. NULL unless
 *  ERR is OK. */
typedef void view_callback(void *data, enum err err, json_t *items);

/** At least one session; ids valid and copied. Fails at once or calls back once, later. */
MUST_CHECK enum err view_fetch(struct publisher *publisher, const struct text *sessions, size_t count,
                               view_callback *callback, void *data);

#endif

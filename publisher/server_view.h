/** The gateways as the admin API shows them: heartbeat, sessions, and how far each is behind with its stream. */
#ifndef ANTEROOM_PUBLISHER_SERVER_VIEW_H
#define ANTEROOM_PUBLISHER_SERVER_VIEW_H

#include "common/base/err.h"

#include <jansson.h>
#include <stddef.h>

struct publisher;

/** ITEMS: an array, a reference for the callee; NULL unless ERR is OK. MORE: registered ones that were not asked for.
 */
typedef void servers_callback(void *data, enum err err, json_t *items, size_t more);

/** Of the registered gateways MOST at most, in the order of their heartbeats, the latest last. Fails at once or calls
 * back once, later. */
MUST_CHECK enum err servers_fetch(struct publisher *publisher, size_t most, servers_callback *callback, void *data);

#endif

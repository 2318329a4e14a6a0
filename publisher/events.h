/** GET /admin/events: what consoles are told as it changes. Every figure is fetched once for all of them; see watch.h
 * for what that costs, subscriber.h for a slow reader. */
#ifndef ANTEROOM_PUBLISHER_EVENTS_H
#define ANTEROOM_PUBLISHER_EVENTS_H

#include "publisher/subscriber.h"

#define EVENTS_SUBSCRIBERS_MAX 32
#define EVENTS_SERVERS_MAX 200 /* gateways told of; "more" counts the rest */

struct http_request;
struct publisher;

struct events {
    struct publisher *publisher;
    struct watches watches;
    struct list subscribers;
    size_t count;
    struct bulletin bulletins[BULLETINS];
    bool asking_servers;
    uint64_t servers_ms; /* when they were last asked for */
};

/** ERR_NOMEM. */
MUST_CHECK enum err events_init(struct events *events, struct publisher *publisher);
/** The streams are closed and nothing is asked of Redis any more. */
void events_finish(struct events *events);
void events_second(struct events *events);
/** Every stream ends: the publisher stops. */
void events_stop(struct events *events);
/** The tokens were read again: streams of those that are not there any more, or may do something else now, end. */
void events_secrets(struct events *events);
/** The handler of the route. */
void events_open(struct http_request *request, void *context);

#endif

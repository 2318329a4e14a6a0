/** GET /admin/events: what consoles are told as it changes. Every figure is fetched once for all of them; see watch.h
 * for what that costs, subscriber.h for a slow reader. */
#ifndef ANTEROOM_PUBLISHER_EVENTS_H
#define ANTEROOM_PUBLISHER_EVENTS_H

#include "publisher/subscriber.h"

#define EVENTS_SUBSCRIBERS_MAX 32
#define EVENTS_SERVERS_MAX 200 /* gateways told of; "more" counts the rest */

struct http_stream_owner;
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

void events_init(struct events *events, struct publisher *publisher);
/** The streams are closed and nothing is asked of Redis any more. */
void events_finish(struct events *events);
void events_second(struct events *events);
/** Every stream ends: the publisher stops. */
void events_stop(struct events *events);
/** The tokens were read again: streams of those that are not there any more, or may do something else now, end. */
void events_secrets(struct events *events);
/** What SUBSCRIBER's stream is opened with, SUBSCRIBER being its data; then it is added. */
extern const struct http_stream_owner events_stream_owner;
void events_add(struct events *events, struct subscriber *subscriber);

#endif

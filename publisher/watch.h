/** The sessions that consoles look at. Each is fetched once for all who do, at most once a second, and no more than
 *  WATCH_LOOKS_MAX a second in all, those first that were looked at longest ago: what it costs Redis has a bound that
 *  does not know how many look. */
#ifndef ANTEROOM_PUBLISHER_WATCH_H
#define ANTEROOM_PUBLISHER_WATCH_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/line/keyspace.h"

#include <stdbool.h>

#define WATCH_EVERY_MS 900  /* a little less than the second that asks, or timers would miss every other one */
#define WATCH_LOOKS_MAX 300 /* a second; six commands each */
#define WATCH_LOOKS_AT_ONCE 100

struct publisher;

struct watch {
    struct map_node node;
    struct list link; /* in watches.round */
    char session[SESSION_ID_MAX + 1];
    unsigned users;
    uint64_t looked_ms; /* 0: never */
    uint64_t seq;       /* rises with every change of the text; 0: nothing is known yet */
    char *text;         /* as an item of GET /admin/sessions; NULL: there is no such session */
};

struct watches {
    struct publisher *publisher;
    struct map by_session;
    struct list round; /* looked at longest ago first */
    unsigned budget;   /* looks left of this second */
    bool asking;
    char asked[WATCH_LOOKS_AT_ONCE][SESSION_ID_MAX + 1]; /* by the fetch under way */
    size_t asked_count;
    void (*on_looked)(void *data); /* some texts may have changed */
    void *data;
};

void watches_init(struct watches *watches, struct publisher *publisher, void (*on_looked)(void *data), void *data);
/** Nobody looks any more, and no fetch is under way. */
void watches_finish(struct watches *watches);
/** The session is looked at until as many releases. Its first look comes before all others'. NULL without memory. */
struct watch *watch_take(struct watches *watches, struct text session);
void watch_release(struct watches *watches, struct watch *watch);
/** Looks at what is due, as far as this second's budget goes. */
void watches_look(struct watches *watches);
/** Another second. */
void watches_second(struct watches *watches);

#endif

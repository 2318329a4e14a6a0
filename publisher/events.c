#include "publisher/events.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/stream.h"
#include "common/line/memory.h"
#include "publisher/publisher.h"
#include "publisher/server_view.h"

#include <stdlib.h>

enum { BULLETIN_REDIS, BULLETIN_SERVERS };

/* ---- the streams ---- */

/* What nobody is told any more would be old for the next who comes. */
static void bulletins_forget(struct events *events)
{
    for (size_t i = 0; i < BULLETINS; i++) {
        free(events->bulletins[i].text);
        events->bulletins[i] = (struct bulletin){.event = events->bulletins[i].event};
    }
}

static void forget(struct events *events, struct subscriber *subscriber)
{
    log_event(LOG_INFO, "console-left", LOG_S("actor", subscriber->actor.name));
    subscriber_destroy(subscriber);
    if (--events->count == 0)
        bulletins_forget(events);
}

static void pump(struct events *events, struct subscriber *subscriber)
{
    if (subscriber_pump(subscriber, clock_mono_ms()))
        return;
    http_stream_abort(subscriber->stream);
    forget(events, subscriber);
}

static void finish(struct events *events, struct subscriber *subscriber)
{
    http_stream_finish(subscriber->stream, NULL, 0);
    forget(events, subscriber);
}

static void finish_if_withdrawn(struct events *events, struct subscriber *subscriber)
{
    const struct actor *was = &subscriber->actor;
    const struct actor *is = actors_find(events->publisher->secrets.actors, text_of(was->token));
    if (!is || !text_is(text_of(is->name), was->name) || is->read_only != was->read_only)
        finish(events, subscriber);
}

/* VISIT may end the subscriber it is called with. */
static void each(struct events *events, void (*visit)(struct events *events, struct subscriber *subscriber))
{
    for (struct list *link = events->subscribers.next, *next; link != &events->subscribers; link = next) {
        next = link->next;
        visit(events, CONTAINER_OF(link, struct subscriber, link));
    }
}

void events_stop(struct events *events)
{
    each(events, finish);
}

void events_secrets(struct events *events)
{
    each(events, finish_if_withdrawn);
}

static void on_looked(void *data)
{
    each(data, pump);
}

/* ---- what is told ---- */

/* Takes TEXT; NULL (no memory) leaves things as they were. */
static void bulletin_set(struct bulletin *bulletin, char *text)
{
    if (!text || (bulletin->text && strcmp(bulletin->text, text) == 0)) {
        free(text);
        return;
    }
    free(bulletin->text);
    bulletin->text = text;
    bulletin->seq++;
}

static void servers_fetched(void *data, enum err err, json_t *items, size_t more)
{
    struct events *events = data;
    events->asking_servers = false;
    if (err != OK)
        return;
    json_t *body = json_pack("{s:o, s:I}", "items", items, "more", (json_int_t)more);
    if (events->count > 0)
        bulletin_set(&events->bulletins[BULLETIN_SERVERS], body ? memory_dumps(body, JSON_COMPACT) : NULL);
    json_decref(body);
    each(events, pump);
}

static void look_at_redis(struct events *events)
{
    struct publisher *publisher = events->publisher;
    bulletin_set(&events->bulletins[BULLETIN_REDIS], strdup(publisher->ready ? "{\"up\":true}" : "{\"up\":false}"));
    uint64_t now_ms = clock_mono_ms();
    if (!publisher->ready || events->asking_servers ||
        (events->servers_ms > 0 && now_ms - events->servers_ms < WATCH_EVERY_MS))
        return;
    events->servers_ms = now_ms;
    events->asking_servers = servers_fetch(publisher, EVENTS_SERVERS_MAX, servers_fetched, events) == OK;
}

/* The first sessions by id, from the catalog: Redis is not asked. Valid until the catalog changes. */
static size_t first_sessions(const struct catalog *catalog, struct text *first)
{
    size_t count = 0;
    MAP_EACH(&catalog->owners, node, next, cursor)
    {
        struct text id = text_of(CONTAINER_OF(node, const struct owner, node)->session);
        size_t at = count;
        if (count == SUBSCRIBER_SESSIONS_MAX && subscriber_compare(&id, &first[count - 1]) > 0)
            continue;
        count += count < SUBSCRIBER_SESSIONS_MAX;
        for (at = at < count ? at : count - 1; at > 0 && subscriber_compare(&id, &first[at - 1]) < 0; at--)
            first[at] = first[at - 1];
        first[at] = id;
    }
    return count;
}

static bool session_exists(const void *catalog, struct text session)
{
    return catalog_find(catalog, session) != NULL;
}

static void look_at_first(struct events *events, struct subscriber *subscriber)
{
    const struct catalog *catalog = &events->publisher->catalog;
    struct text first[SUBSCRIBER_SESSIONS_MAX];
    size_t count = first_sessions(catalog, first);
    subscriber_look_at(subscriber, first, count, session_exists, catalog);
}

static void look_at_first_all(struct events *events)
{
    const struct catalog *catalog = &events->publisher->catalog;
    struct text first[SUBSCRIBER_SESSIONS_MAX];
    size_t count = SIZE_MAX; /* not known yet: nobody may want to know */
    for (struct list *link = events->subscribers.next; link != &events->subscribers; link = link->next) {
        struct subscriber *subscriber = CONTAINER_OF(link, struct subscriber, link);
        if (subscriber->named)
            continue;
        if (count == SIZE_MAX)
            count = first_sessions(catalog, first);
        subscriber_look_at(subscriber, first, count, session_exists, catalog);
    }
}

void events_second(struct events *events)
{
    look_at_first_all(events);
    watches_second(&events->watches);
    if (events->count == 0)
        return;
    look_at_redis(events);
    each(events, pump);
}

/* ---- one stream ---- */

static void on_drain(void *data)
{
    struct subscriber *subscriber = data;
    pump(CONTAINER_OF(subscriber->watches, struct events, watches), subscriber);
}

static void on_closed(void *data, const char *reason)
{
    struct subscriber *subscriber = data;
    (void)reason;
    forget(CONTAINER_OF(subscriber->watches, struct events, watches), subscriber);
}

const struct http_stream_owner events_stream_owner = {on_drain, on_closed};

void events_add(struct events *events, struct subscriber *subscriber)
{
    log_event(LOG_INFO, "console-came", LOG_S("actor", subscriber->actor.name));
    events->count++;
    list_append(&events->subscribers, &subscriber->link);
    if (!subscriber->named)
        look_at_first(events, subscriber);
    look_at_redis(events);
    watches_look(&events->watches);
    pump(events, subscriber);
}

/* ---- life ---- */

void events_init(struct events *events, struct publisher *publisher)
{
    *events = (struct events){
        .publisher = publisher,
        .bulletins = {[BULLETIN_REDIS] = {.event = "redis"}, [BULLETIN_SERVERS] = {.event = "servers"}}};
    list_init(&events->subscribers);
    watches_init(&events->watches, publisher, on_looked, events);
}

void events_finish(struct events *events)
{
    CHECK(events->count == 0);
    bulletins_forget(events);
    watches_finish(&events->watches);
}

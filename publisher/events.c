#include "publisher/events.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/http/request.h"
#include "common/http/stream.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/publisher.h"
#include "publisher/server_view.h"

#include <stdlib.h>

#define RETRY_MS 2000
#define SESSIONS_TEXT_MAX (SUBSCRIBER_SESSIONS_MAX * (SESSION_ID_MAX + 1))

enum { BULLETIN_REDIS, BULLETIN_SERVERS };

#define EVENTS_EACH(events, subscriber)                                                                            \
    for (struct list *link = (events)->subscribers.next, *next; next = link->next, link != &(events)->subscribers; \
         link = next)                                                                                              \
        for (struct subscriber *subscriber = CONTAINER_OF(link, struct subscriber, link); subscriber; subscriber = NULL)

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

static void pump(struct events *events, struct subscriber *subscriber, uint64_t now_ms)
{
    if (subscriber_pump(subscriber, now_ms))
        return;
    http_stream_abort(subscriber->stream);
    forget(events, subscriber);
}

static void pump_all(void *data)
{
    struct events *events = data;
    uint64_t now_ms = clock_mono_ms();
    EVENTS_EACH(events, subscriber)
    pump(events, subscriber, now_ms);
}

static void finish(struct events *events, struct subscriber *subscriber)
{
    http_stream_finish(subscriber->stream, NULL, 0);
    forget(events, subscriber);
}

void events_stop(struct events *events)
{
    EVENTS_EACH(events, subscriber)
    finish(events, subscriber);
}

void events_secrets(struct events *events)
{
    EVENTS_EACH(events, subscriber)
    {
        const struct actor *was = &subscriber->actor;
        const struct actor *is = actors_find(events->publisher->secrets.actors, text_of(was->token));
        if (!is || strcmp(is->name, was->name) != 0 || is->read_only != was->read_only)
            finish(events, subscriber);
    }
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
        bulletin_set(&events->bulletins[BULLETIN_SERVERS], body ? json_dumps(body, JSON_COMPACT) : NULL);
    json_decref(body);
    pump_all(events);
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

static void look_at_first(struct events *events, struct subscriber *one)
{
    const struct catalog *catalog = &events->publisher->catalog;
    struct text first[SUBSCRIBER_SESSIONS_MAX];
    size_t count = first_sessions(catalog, first);
    EVENTS_EACH(events, subscriber)
    if (!subscriber->named && (!one || subscriber == one))
        subscriber_look_at(subscriber, first, count, session_exists, catalog);
}

void events_second(struct events *events)
{
    bool unnamed = false;
    EVENTS_EACH(events, subscriber)
    unnamed = unnamed || !subscriber->named;
    if (unnamed)
        look_at_first(events, NULL);
    watches_second(&events->watches);
    if (events->count == 0)
        return;
    look_at_redis(events);
    pump_all(events);
}

/* ---- opening ---- */

static void on_drain(void *data)
{
    struct subscriber *subscriber = data;
    pump(CONTAINER_OF(subscriber->watches, struct events, watches), subscriber, clock_mono_ms());
}

static void on_closed(void *data, const char *reason)
{
    struct subscriber *subscriber = data;
    (void)reason;
    forget(CONTAINER_OF(subscriber->watches, struct events, watches), subscriber);
}

static const struct http_stream_owner stream_owner = {on_drain, on_closed};

/* "a,b,c" into SUBSCRIBER. False: answered. */
static bool take_sessions(struct http_request *request, struct subscriber *subscriber)
{
    char text[SESSIONS_TEXT_MAX];
    enum err err = http_request_param(request, "sessions", text, sizeof text);
    struct text rest = text_of(text), id;
    subscriber->named = err != ERR_MISSING;
    if (!subscriber->named)
        return true;
    while (err == OK && text_next(&rest, ',', &id))
        err = session_id_valid(id) ? subscriber_look(subscriber, id) : ERR_INVALID;
    if (err == ERR_NOMEM)
        admin_unavailable(request, err);
    else if (err != OK)
        admin_problem(request, 400, "bad-request", "Not a list of sessions",
                      "sessions are 1 to 100 session ids, each once, separated by commas.");
    return err == OK;
}

/* The first frame, with its reserve; its payload's length, 0 without memory. */
static size_t hello(const struct events *events, const struct actor *actor, char *frame)
{
    char now[CLOCK_RFC3339_SIZE];
    clock_rfc3339(now, clock_wall_ms());
    json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:b}", "version", ANTEROOM_VERSION, "publisherId",
                             events->publisher->id, "now", now, "actor", actor->name, "readOnly", actor->read_only);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    int len = text ? snprintf(frame + HTTP_FRAME_RESERVE, HTTP_FRAME_MAX, "retry: %d\nevent: hello\ndata: %s\n\n",
                              RETRY_MS, text)
                   : 0;
    json_decref(body);
    free(text);
    CHECK(len >= 0 && len < HTTP_FRAME_MAX); /* ids and names have limits */
    return (size_t)len;
}

static void subscribe(struct events *events, struct http_request *request, struct subscriber *subscriber)
{
    char frame[HTTP_FRAME_RESERVE + HTTP_FRAME_MAX + HTTP_FRAME_RESERVE];
    size_t len = hello(events, &subscriber->actor, frame);
    if (len == 0) {
        admin_unavailable(request, ERR_NOMEM);
        subscriber_destroy(subscriber);
        return;
    }
    subscriber->sent_ms = clock_mono_ms();
    subscriber->stream = http_stream_open(request, "text/event-stream; charset=utf-8", "X-Accel-Buffering: no\r\n",
                                          frame + HTTP_FRAME_RESERVE, len, &stream_owner, subscriber);
    if (!subscriber->stream) {
        subscriber_destroy(subscriber);
        return;
    }
    log_event(LOG_INFO, "console-came", LOG_S("actor", subscriber->actor.name));
    events->count++;
    list_append(&events->subscribers, &subscriber->link);
    if (!subscriber->named)
        look_at_first(events, subscriber);
    look_at_redis(events);
    watches_look(&events->watches);
    pump(events, subscriber, clock_mono_ms());
}

static void refuse(struct http_request *request)
{
    http_respond_problem(request, &(struct http_problem){.status = 503,
                                                         .code = "too-many-connections",
                                                         .title = "Too many consoles",
                                                         .detail = "32 event streams are open already, or this "
                                                                   "publisher is stopping.",
                                                         .retry_after_seconds = 5});
}

void events_open(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    struct events *events = &publisher->events;
    const struct actor *actor = admin_enter(publisher, request);
    if (!actor)
        return;
    if (events->count >= EVENTS_SUBSCRIBERS_MAX || publisher->stopping) {
        refuse(request);
        return;
    }
    struct subscriber *subscriber = subscriber_create(&events->watches, events->bulletins, actor);
    if (!subscriber)
        admin_unavailable(request, ERR_NOMEM);
    else if (take_sessions(request, subscriber))
        subscribe(events, request, subscriber);
    else
        subscriber_destroy(subscriber);
}

/* ---- life ---- */

enum err events_init(struct events *events, struct publisher *publisher)
{
    *events = (struct events){
        .publisher = publisher,
        .bulletins = {[BULLETIN_REDIS] = {.event = "redis"}, [BULLETIN_SERVERS] = {.event = "servers"}}};
    list_init(&events->subscribers);
    return watches_init(&events->watches, publisher, pump_all, events);
}

void events_finish(struct events *events)
{
    CHECK(events->count == 0);
    bulletins_forget(events);
    watches_finish(&events->watches);
}

#include "publisher/admin_events.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/version.h"
#include "common/http/request.h"
#include "common/http/stream.h"
#include "common/line/memory.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/publisher.h"

#include <stdlib.h>

#define RETRY_MS 2000
#define SESSIONS_TEXT_MAX (SUBSCRIBER_SESSIONS_MAX * (SESSION_ID_MAX + 1))

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
    char *text = body ? memory_dumps(body, JSON_COMPACT) : NULL;
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
                                          frame + HTTP_FRAME_RESERVE, len, &events_stream_owner, subscriber);
    if (!subscriber->stream) {
        subscriber_destroy(subscriber);
        return;
    }
    events_add(events, subscriber);
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

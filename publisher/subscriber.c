#include "publisher/subscriber.h"

#include "common/base/check.h"
#include "common/http/stream.h"

#include <stdlib.h>

struct subscriber *subscriber_create(struct watches *watches, const struct bulletin *bulletins,
                                     const struct actor *actor)
{
    struct subscriber *subscriber = calloc(1, sizeof *subscriber);
    if (!subscriber)
        return NULL;
    subscriber->watches = watches;
    subscriber->bulletins = bulletins;
    subscriber->actor = *actor;
    list_init(&subscriber->link);
    buf_init(&subscriber->out, SUBSCRIBER_OUT_MAX);
    return subscriber;
}

void subscriber_destroy(struct subscriber *subscriber)
{
    for (size_t i = 0; i < subscriber->count; i++)
        watch_release(subscriber->watches, subscriber->looks[i].watch);
    list_remove(&subscriber->link);
    buf_finish(&subscriber->out);
    explicit_bzero(&subscriber->actor, sizeof subscriber->actor);
    free(subscriber);
}

/* ---- what it looks at ---- */

int subscriber_compare(const void *a, const void *b)
{
    const struct text *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->at, y->at, len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static enum err look_add(struct subscriber *subscriber, struct text session)
{
    if (subscriber->count == SUBSCRIBER_LOOKS_MAX)
        return ERR_TOO_BIG;
    struct watch *watch = watch_take(subscriber->watches, session);
    if (!watch)
        return ERR_NOMEM;
    subscriber->looks[subscriber->count++] = (struct look){.watch = watch};
    return OK;
}

enum err subscriber_look(struct subscriber *subscriber, struct text session)
{
    for (size_t i = 0; i < subscriber->count; i++)
        if (text_is(session, subscriber->looks[i].watch->session))
            return ERR_INVALID;
    return subscriber->count < SUBSCRIBER_SESSIONS_MAX ? look_add(subscriber, session) : ERR_TOO_BIG;
}

void subscriber_look_at(struct subscriber *subscriber, const struct text *sessions, size_t count,
                        bool (*exists)(const void *data, struct text session), const void *data)
{
    bool seen[SUBSCRIBER_SESSIONS_MAX] = {false};
    CHECK(count <= SUBSCRIBER_SESSIONS_MAX);
    for (size_t i = 0; i < subscriber->count; i++) {
        struct look *look = &subscriber->looks[i];
        struct text id = text_of(look->watch->session);
        const struct text *found = count ? bsearch(&id, sessions, count, sizeof id, subscriber_compare) : NULL;
        look->leaving = found ? NULL : exists(data, id) ? "beyond" : "deleted";
        if (found)
            seen[found - sessions] = true;
    }
    for (size_t i = 0; i < count; i++)
        if (!seen[i] && look_add(subscriber, sessions[i]) != OK)
            return;
}

/* ---- what it is told ---- */

static enum err put_gone(struct buf *out, const char *session, const char *reason)
{
    return buf_format(out, "event: gone\ndata: {\"sessionId\":\"%s\",\"reason\":\"%s\"}\n\n", session, reason);
}

static enum err put_event(struct buf *out, const char *event, const char *text)
{
    enum err err = buf_format(out, "event: %s\ndata: ", event);
    if (err == OK)
        err = buf_text(out, text_of(text));
    return err == OK ? buf_text(out, TEXT("\n\n")) : err;
}

static enum err compose_bulletins(struct subscriber *subscriber)
{
    enum err err = OK;
    for (size_t i = 0; i < BULLETINS && err == OK; i++) {
        const struct bulletin *bulletin = &subscriber->bulletins[i];
        if (subscriber->bulletins_sent[i] == bulletin->seq)
            continue;
        subscriber->bulletins_sent[i] = bulletin->seq;
        err = put_event(&subscriber->out, bulletin->event, bulletin->text);
    }
    return err;
}

/* Those it does not look at any more, backwards as the last one takes the place of each. */
static enum err compose_leaving(struct subscriber *subscriber)
{
    enum err err = OK;
    for (size_t i = subscriber->count; i > 0 && err == OK && subscriber->out.len < HTTP_FRAME_MAX; i--) {
        struct look *look = &subscriber->looks[i - 1];
        struct watch *watch = look->watch;
        if (!look->leaving)
            continue;
        bool told_gone = look->sent == watch->seq && !watch->text;
        if (look->sent > 0 && !told_gone)
            err = put_gone(&subscriber->out, watch->session, look->leaving);
        *look = subscriber->looks[--subscriber->count];
        watch_release(subscriber->watches, watch);
    }
    return err;
}

/* From where the last frame ended, so that a slow reader hears of each in turn. */
static enum err compose_sessions(struct subscriber *subscriber)
{
    enum err err = OK;
    for (size_t i = 0; i < subscriber->count && err == OK && subscriber->out.len < HTTP_FRAME_MAX; i++) {
        subscriber->next = subscriber->next < subscriber->count ? subscriber->next : 0;
        struct look *look = &subscriber->looks[subscriber->next++];
        const struct watch *watch = look->watch;
        if (look->sent == watch->seq || look->leaving)
            continue;
        bool unheard_of = look->sent == 0 && !subscriber->named; /* its first text is on the way */
        look->sent = watch->seq;
        if (!watch->text && unheard_of)
            continue;
        err = watch->text ? put_event(&subscriber->out, "session", watch->text)
                          : put_gone(&subscriber->out, watch->session, "deleted");
    }
    return err;
}

static enum err compose(struct subscriber *subscriber, uint64_t now_ms)
{
    enum err err = compose_bulletins(subscriber);
    if (err == OK)
        err = compose_leaving(subscriber);
    if (err == OK)
        err = compose_sessions(subscriber);
    if (err == OK && subscriber->out.len == 0 && now_ms - subscriber->sent_ms >= SUBSCRIBER_SILENCE_MS)
        err = buf_text(&subscriber->out, TEXT(":\n\n"));
    return err;
}

/* ---- writing ---- */

bool subscriber_pump(struct subscriber *subscriber, uint64_t now_ms)
{
    static char frame[HTTP_FRAME_RESERVE + HTTP_FRAME_MAX + HTTP_FRAME_RESERVE];
    struct buf *out = &subscriber->out;
    for (;;) {
        if (out->len == 0 && compose(subscriber, now_ms) != OK)
            return false;
        if (out->len == 0)
            return true;
        size_t len = out->len < HTTP_FRAME_MAX ? out->len : HTTP_FRAME_MAX;
        memcpy(frame + HTTP_FRAME_RESERVE, out->data, len);
        enum http_sent sent = http_stream_send(subscriber->stream, frame + HTTP_FRAME_RESERVE, len);
        if (sent == HTTP_BUSY || sent == HTTP_BROKEN) /* on_drain or on_closed follows */
            return true;
        buf_consume(out, len);
        subscriber->sent_ms = now_ms;
        if (sent == HTTP_QUEUED)
            return true;
    }
}

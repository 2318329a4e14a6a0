#include "gateway/info.h"

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/http/response.h"
#include "gateway/gateway.h"
#include "gateway/refusal.h"
#include "gateway/session.h"

#include <inttypes.h>
#include <stdlib.h>

#define BODY_MAX 2048

/* One question to Redis. It owns itself; a client that goes away detaches from it. */
struct inquiry {
    struct gateway *gateway;
    struct http_request *request; /* NULL: the client went away */
    char session[SESSION_ID_MAX + 1];
};

static void inquiry_gone(void *data)
{
    ((struct inquiry *)data)->request = NULL;
}

static const char *status_word(const struct line_info *info)
{
    if (text_is(info->status, "closed") || (info->ends_at_ms && info->now_ms >= info->ends_at_ms))
        return "closed";
    if (text_is(info->phase, "sold-out"))
        return "sold-out";
    if (info->starts_at_ms && info->now_ms < info->starts_at_ms)
        return "scheduled";
    return text_is(info->status, "paused") ? "paused" : "open";
}

static enum err put_instant(struct buf *out, const char *name, int64_t unix_ms)
{
    char instant[CLOCK_RFC3339_SIZE];
    if (unix_ms == 0)
        return buf_format(out, ",\"%s\":null", name);
    clock_rfc3339(instant, unix_ms);
    return buf_format(out, ",\"%s\":\"%s\"", name, instant);
}

/* What stays true for INFO_MS: all but "now". None of it needs escapes, by its alphabet. */
static enum err write_info(struct buf *out, const char *session, const struct line_info *info)
{
    bool lottery = text_is(info->order, "lottery");
    enum err err = buf_format(out, ",\"sessionId\":\"%s\",\"status\":\"%s\"", session, status_word(info));
    if (err == OK)
        err = put_instant(out, "startsAt", info->starts_at_ms);
    if (err == OK)
        err = put_instant(out, "endsAt", info->ends_at_ms);
    if (err == OK)
        err = buf_format(out, ",\"waiting\":%" PRIu64 ",\"lobby\":%" PRIu64 ",\"order\":\"%.*s\"", info->waiting,
                         info->lobby, (int)info->order.len, info->order.at);
    if (err == OK && lottery)
        err = buf_format(out, ",\"seedHash\":\"%.*s\"", (int)info->seed_hash.len, info->seed_hash.at);
    if (err == OK && lottery && info->seed.len)
        err = buf_format(out, ",\"seed\":\"%.*s\"", (int)info->seed.len, info->seed.at);
    if (err == OK && lottery && info->drawn_last)
        err = buf_format(out, ",\"drawnTickets\":[%" PRIu64 ",%" PRIu64 "]", info->drawn_first, info->drawn_last);
    return err == OK ? buf_append(out, "}\n", 3) : err; /* terminated */
}

static void respond(struct gateway *gateway, struct http_request *request, int64_t now_ms, const char *rest)
{
    char instant[CLOCK_RFC3339_SIZE];
    struct buf body;
    buf_init(&body, BODY_MAX);
    clock_rfc3339(instant, now_ms);
    if (buf_format(&body, "{\"now\":\"%s\"%s", instant, rest) == OK)
        http_respond(request, &(struct http_response){.status = 200,
                                                      .type = "application/json",
                                                      .cache = "public, max-age=1",
                                                      .body = buf_view(&body)});
    else
        refuse(gateway, request, REFUSAL_UNAVAILABLE, NULL, 0);
    buf_finish(&body);
}

static void inquiry_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct inquiry *inquiry = data;
    struct gateway *gateway = inquiry->gateway;
    struct session *session = session_find(gateway, text_of(inquiry->session));
    struct line_info info;
    struct buf rest;
    buf_init(&rest, BODY_MAX);
    line_info_decode(err, reply, &info);
    bool written = info.outcome == LINE_OK && write_info(&rest, inquiry->session, &info) == OK;
    if (inquiry->request && written)
        respond(gateway, inquiry->request, info.now_ms, rest.data);
    else if (inquiry->request)
        refuse(gateway, inquiry->request,
               info.outcome == LINE_DELETED || (info.outcome == LINE_NONE && !(session && session->known))
                   ? REFUSAL_UNKNOWN_SESSION
                   : REFUSAL_UNAVAILABLE,
               NULL, 0);
    if (written && !session)
        session = session_get(gateway, text_of(inquiry->session));
    if (written && session) {
        free(session->info);
        session->info = rest.data; /* taken over */
        session->info_ms = clock_mono_ms();
    } else {
        buf_finish(&rest);
    }
    free(inquiry);
}

void info_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    char id[SESSION_ID_MAX + 1];
    if (http_request_param(request, "sessionId", id, sizeof id) != OK || !session_id_valid(text_of(id))) {
        refuse(gateway, request, REFUSAL_BAD_SESSION, NULL, 0);
        return;
    }
    const struct session *session = session_find(gateway, text_of(id));
    if (session && session->info && clock_mono_ms() - session->info_ms < INFO_MS) {
        respond(gateway, request, membership_redis_now_ms(&gateway->membership), session->info);
        return;
    }
    struct inquiry *inquiry = calloc(1, sizeof *inquiry);
    if (inquiry) {
        *inquiry = (struct inquiry){.gateway = gateway, .request = request};
        memcpy(inquiry->session, id, sizeof inquiry->session);
    }
    if (!inquiry || line_info(&gateway->line, text_of(inquiry->session), inquiry_answered, inquiry) != OK) {
        free(inquiry);
        refuse(gateway, request, REFUSAL_UNAVAILABLE, NULL, 0);
        return;
    }
    http_request_on_gone(request, inquiry_gone, inquiry);
}

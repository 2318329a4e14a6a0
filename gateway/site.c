#include "gateway/site.h"

#include "common/base/log.h"
#include "common/http/response.h"
#include "common/line/use.h"
#include "gateway/gateway.h"
#include "gateway/pass.h"
#include "gateway/refusal.h"

#include <stdlib.h>

#define JWKS_BYTES_MAX 8192

/* ---- redeem and release ---- */

/* One call for one request. */
struct site_call {
    struct gateway *gateway;
    struct http_request *request; /* NULL: the client went away */
    char by[USE_BY_MAX + 1];      /* "": nobody is named */
    int64_t now_ms;
};

static void call_gone(void *data)
{
    struct site_call *call = data;
    call->request = NULL;
}

static void refuse_call(struct gateway *gateway, struct http_request *request, enum line_outcome outcome)
{
    if (outcome == LINE_USED)
        refuse_by_status(gateway, request, REFUSAL_USED, NULL, 0);
    else
        refuse_by_status(gateway, request, REFUSAL_UNAVAILABLE,
                         "Redis did not answer, and may have done it all the same: ask again, with the same by.", 0);
}

/* Frees CALL. A call that failed may have been carried out: whoever asks again with the same BY is told. */
static void call_answered(struct site_call *call, enum line_outcome outcome, enum err err,
                          const struct redis_reply *reply)
{
    struct http_request *request = call->request;
    if (err == ERR_REPLY)
        log_event(LOG_WARN, "site-call-refused", LOG_T("reason", reply_text(reply)));
    if (request && outcome == LINE_OK)
        http_respond(request, &(struct http_response){.status = 204});
    else if (request)
        refuse_call(call->gateway, request, outcome);
    free(call);
}

static void redeem_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct site_call *call = data;
    call_answered(call, use_redeemed(err, reply, text_of(call->by), call->now_ms), err, reply);
}

static void release_answered(void *data, enum err err, const struct redis_reply *reply)
{
    call_answered(data, line_outcome_of(err, reply), err, reply);
}

static void call_begin(struct gateway *gateway, struct http_request *request, const struct entry *entry, const char *by,
                       bool release)
{
    struct site_call *call = gateway->membership.joined ? calloc(1, sizeof *call) : NULL;
    enum err err = call ? OK : ERR_UNSENT;
    if (call) {
        *call = (struct site_call){
            .gateway = gateway, .request = request, .now_ms = membership_redis_now_ms(&gateway->membership)};
        memcpy(call->by, by, strlen(by) + 1);
        struct use use = {text_of(entry->session), text_of(entry->place), entry->expires_s, call->now_ms};
        err = release ? use_release(&gateway->line, &use, release_answered, call)
                      : use_redeem(&gateway->line, &use, text_of(call->by), redeem_answered, call);
    }
    if (err == OK) {
        http_request_on_gone(request, call_gone, call);
        return;
    }
    free(call);
    refuse_call(gateway, request, LINE_FAILED);
}

/* False: the request was refused. SESSION is {NULL, 0} where none was given and none is NEEDED. */
static bool read_session(struct gateway *gateway, struct http_request *request, bool needed,
                         char room[SESSION_ID_MAX + 1], struct text *session)
{
    enum err err = http_request_param(request, "sessionId", room, SESSION_ID_MAX + 1);
    *session = err == OK ? text_of(room) : (struct text){NULL, 0};
    if ((err == OK && session_id_valid(*session)) || (err == ERR_MISSING && !needed))
        return true;
    refuse_by_status(gateway, request, REFUSAL_BAD_SESSION, NULL, 0);
    return false;
}

void redeem_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    char room[SESSION_ID_MAX + 1], by[USE_BY_MAX + 1] = "";
    const char *why;
    struct text session;
    struct entry entry;
    if (!read_session(gateway, request, true, room, &session))
        return;
    enum err err = http_request_param(request, "by", by, sizeof by);
    if (err != ERR_MISSING && (err != OK || !use_by_valid(text_of(by))))
        refuse_by_status(gateway, request, REFUSAL_BAD_REQUEST, "by must be 1 to 64 of A-Z a-z 0-9 _ . : -.", 0);
    else if ((err = pass_read(gateway, request, session, &entry, &why)) != OK)
        pass_refuse(gateway, request, err, why);
    else
        call_begin(gateway, request, &entry, by, false);
}

void release_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    char room[SESSION_ID_MAX + 1];
    const char *why;
    struct text session;
    struct entry entry;
    if (!read_session(gateway, request, false, room, &session))
        return;
    enum err err = pass_read(gateway, request, session, &entry, &why);
    if (err != OK)
        pass_refuse(gateway, request, err, why);
    else
        call_begin(gateway, request, &entry, "", true);
}

/* ---- keys ---- */

void jwks_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    struct buf body;
    buf_init(&body, JWKS_BYTES_MAX);
    if (keyring_write(&gateway->keys.entry, &body) != OK)
        refuse_by_status(gateway, request, REFUSAL_UNAVAILABLE, NULL, 0);
    else
        http_respond(request, &(struct http_response){.status = 200,
                                                      .type = "application/json",
                                                      .cache = "public, max-age=300",
                                                      .body = buf_view(&body)});
    buf_finish(&body);
}

#include "gateway/verify.h"

#include "common/http/response.h"
#include "common/line/use.h"
#include "gateway/gateway.h"
#include "gateway/pass.h"
#include "gateway/refusal.h"
#include "gateway/visitor.h"

#include <stdlib.h>

/* One question. Redis' answer frees it; the request may be answered or gone before. */
struct question {
    struct verify *verify;
    struct http_request *request; /* NULL: answered, or the client went away */
    struct list link;             /* in verify.waiting while the request waits */
    uint64_t due_ms;              /* loop time */
    struct entry entry;
};

void verify_init(struct verify *verify, struct gateway *gateway)
{
    verify->gateway = gateway;
    list_init(&verify->waiting);
    uv_timer_init(gateway->loop, &verify->timer);
    verify->timer.data = verify;
}

void verify_close(struct verify *verify)
{
    uv_close((uv_handle_t *)&verify->timer, NULL);
}

static void allow(struct http_request *request, const struct entry *entry)
{
    char headers[PASS_HEADERS_SIZE];
    pass_headers(entry, headers);
    http_respond(request, &(struct http_response){.status = 204, .headers = headers});
}

/* The request waits no more. */
static struct http_request *question_take(struct question *question)
{
    struct http_request *request = question->request;
    if (request)
        http_request_on_gone(request, NULL, NULL);
    question->request = NULL;
    list_remove(&question->link);
    return request;
}

static void question_gone(void *data)
{
    struct question *question = data;
    question->request = NULL;
    list_remove(&question->link);
}

static void arm(struct verify *verify);

/* Redis is too slow for those who waited long enough: the claims hold, and that has to do. */
static void on_due(uv_timer_t *timer)
{
    struct verify *verify = timer->data;
    uint64_t now_ms = uv_now(verify->gateway->loop);
    struct list *link;
    verify->slow = true;
    while ((link = list_first(&verify->waiting)) != NULL) {
        struct question *question = CONTAINER_OF(link, struct question, link);
        if (question->due_ms > now_ms)
            break;
        allow(question_take(question), &question->entry);
    }
    arm(verify);
}

static void arm(struct verify *verify)
{
    struct list *link = list_first(&verify->waiting);
    uint64_t now_ms = uv_now(verify->gateway->loop);
    if (!link || uv_is_closing((uv_handle_t *)&verify->timer)) {
        uv_timer_stop(&verify->timer);
        return;
    }
    const struct question *oldest = CONTAINER_OF(link, struct question, link);
    uv_timer_start(&verify->timer, on_due, oldest->due_ms > now_ms ? oldest->due_ms - now_ms : 0, 0);
}

static void answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct question *question = data;
    struct verify *verify = question->verify;
    struct http_request *request = question_take(question);
    verify->slow = false;
    if (request && use_was(err, reply))
        refuse_by_status(verify->gateway, request, REFUSAL_USED, NULL, 0);
    else if (request)
        allow(request, &question->entry);
    free(question);
    arm(verify);
}

/* False: nobody can be asked now. */
static bool ask(struct verify *verify, struct http_request *request, const struct entry *entry)
{
    struct gateway *gateway = verify->gateway;
    struct question *question = NULL;
    if (!verify->slow && redis_is_up(gateway->line.redis))
        question = malloc(sizeof *question);
    if (!question)
        return false;
    *question = (struct question){.verify = verify, .request = request, .entry = *entry};
    question->due_ms = uv_now(gateway->loop) + VERIFY_WAIT_MS;
    struct use use = {text_of(question->entry.session), text_of(question->entry.place), entry->expires_s, 0};
    if (use_look(&gateway->line, &use, answered, question) != OK) {
        free(question);
        return false;
    }
    list_append(&verify->waiting, &question->link);
    http_request_on_gone(request, question_gone, question);
    if (!uv_is_active((uv_handle_t *)&verify->timer))
        arm(verify);
    return true;
}

void verify_handle(struct http_request *request, void *context)
{
    struct gateway *gateway = context;
    char session[SESSION_ID_MAX + 1];
    const char *why = "sessionId must be 1 to 64 of A-Z a-z 0-9 _ -.";
    struct entry entry;
    uint32_t wait_ms;
    if (!visitor_within(gateway, request, &gateway->verify_limiter, &wait_ms)) {
        refuse_by_status(gateway, request, REFUSAL_VERIFY_LIMITED, NULL, wait_ms / 1000 + 1);
        return;
    }
    if (http_request_param(request, "sessionId", session, sizeof session) != OK ||
        !session_id_valid(text_of(session))) {
        refuse_by_status(gateway, request, REFUSAL_NO_ENTRY, why, 0);
        return;
    }
    enum err err = pass_read(gateway, request, text_of(session), &entry, &why);
    if (err != OK) {
        pass_refuse(gateway, request, err, why);
        return;
    }
    if (!ask(&gateway->verify, request, &entry))
        allow(request, &entry);
}

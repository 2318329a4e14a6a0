#include "publisher/admin_answer.h"

#include "common/base/check.h"
#include "common/http/request.h"
#include "common/line/memory.h"
#include "publisher/publisher.h"

#include <inttypes.h>
#include <stdlib.h>

static void on_gone(void *data)
{
    ((struct admin_op *)data)->request = NULL;
}

void admin_op_begin(struct admin_op *op, struct publisher *publisher, struct http_request *request,
                    const struct actor *actor, struct text session)
{
    op->publisher = publisher;
    op->request = request;
    memcpy(op->actor, actor->name, sizeof op->actor);
    CHECK(text_copy(op->session, sizeof op->session, session) == OK);
    publisher->operations++;
    http_request_on_gone(request, on_gone, op);
}

void admin_op_end(struct admin_op *op)
{
    CHECK(!op->request && op->publisher->operations > 0);
    op->publisher->operations--;
}

struct http_request *admin_op_take(struct admin_op *op)
{
    struct http_request *request = op->request;
    if (request)
        http_request_on_gone(request, NULL, NULL);
    op->request = NULL;
    return request;
}

void admin_json(struct http_request *request, int status, json_t *body, int64_t version)
{
    char etag[64] = "";
    char *text = request && body ? memory_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(body);
    if (version > 0)
        snprintf(etag, sizeof etag, "ETag: \"%" PRId64 "\"\r\n", version);
    if (text)
        http_respond(request,
                     &(struct http_response){
                         .status = status, .type = "application/json", .headers = etag, .body = text_of(text)});
    else
        admin_unavailable(request, ERR_LOST); /* of a change that was made, too */
    free(text);
}

void admin_empty(struct http_request *request, int status)
{
    if (request)
        http_respond(request, &(struct http_response){.status = status});
}

void admin_problem(struct http_request *request, int status, const char *code, const char *title, const char *detail)
{
    if (request)
        http_respond_problem(request,
                             &(struct http_problem){.status = status, .code = code, .title = title, .detail = detail});
}

void admin_complain(json_t *errors, const char *field, const char *detail)
{
    json_array_append_new(errors, json_pack("{s:s, s:s}", "field", field, "detail", detail));
}

void admin_bad_fields(struct http_request *request, const json_t *errors)
{
    char *text = memory_dumps(errors, JSON_COMPACT);
    struct buf extra;
    buf_init(&extra, SIZE_MAX / 4); /* a body has 64 KiB at most, so its errors are bounded */
    if (text && buf_format(&extra, ",\"errors\":%s", text) == OK && buf_append(&extra, "", 1) == OK)
        http_respond_problem(request,
                             &(struct http_problem){.status = 400,
                                                    .code = "bad-request",
                                                    .title = "Some fields are not right",
                                                    .detail = "Nothing was changed; \"errors\" names each field.",
                                                    .extra = extra.data});
    else
        admin_unavailable(request, ERR_NOMEM);
    buf_finish(&extra);
    free(text);
}

void admin_unavailable(struct http_request *request, enum err err)
{
    bool unsent = err == ERR_UNSENT || err == ERR_BUSY || err == ERR_NOMEM;
    if (!request)
        return;
    http_respond_problem(
        request, &(struct http_problem){
                     .status = 503,
                     .code = "unavailable",
                     .title = err == ERR_NOMEM ? "No memory for it" : "Redis did not answer",
                     .detail = unsent ? "Nothing was changed." : "A change may have been made or not: look again.",
                     .retry_after_seconds = 1,
                 });
}

void admin_unknown_session(struct http_request *request)
{
    admin_problem(request, 404, "unknown-session", "No such session", "There is no session with this id.");
}

bool admin_session_id(struct http_request *request, struct text *session)
{
    *session = http_request_segment(request, "session");
    if (session_id_valid(*session))
        return true;
    admin_problem(request, 400, "bad-session", "Not a session id", "A session id is 1 to 64 of A-Z a-z 0-9 _ and -.");
    return false;
}

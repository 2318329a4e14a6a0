#include "publisher/admin_crowd.h"

#include "common/base/log.h"
#include "common/http/request.h"
#include "common/line/config.h"
#include "common/line/memory.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/admin_body.h"
#include "publisher/admin_form.h"
#include "publisher/publisher.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* LOOK (is the session there, does it take virtual people?) ──► AUDIT ──► crowd_start, 202 */
struct crowd_op {
    struct admin_op op;
    uint32_t count, per_second;
    struct crowd *crowd; /* its slot, taken between AUDIT and the end */
};

static void crowd_op_free(struct crowd_op *op)
{
    admin_op_end(&op->op);
    free(op);
}

static void fail(struct crowd_op *op, enum err err)
{
    if (op->crowd)
        crowd_cancel(op->crowd);
    admin_unavailable(admin_op_take(&op->op), err);
    crowd_op_free(op);
}

static void refuse(struct crowd_op *op, const char *code, const char *title, const char *detail)
{
    admin_problem(admin_op_take(&op->op), 409, code, title, detail);
    crowd_op_free(op);
}

/* ---- audit ---- */

static void audited(void *data, enum err err, const struct redis_reply *reply)
{
    struct crowd_op *op = data;
    (void)reply;
    if (err != OK || op->op.publisher->stopping) {
        fail(op, ERR_UNSENT); /* whatever became of the entry: no crowd comes */
        return;
    }
    log_event(LOG_INFO, "admin", LOG_S("session", op->op.session), LOG_S("actor", op->op.actor),
              LOG_S("action", "crowd"), LOG_I("count", op->count), LOG_I("per_second", op->per_second));
    crowd_start(op->crowd);
    admin_json(admin_op_take(&op->op), 202,
               json_pack("{s:s, s:I, s:I}", "sessionId", op->op.session, "count", (json_int_t)op->count, "perSecond",
                         (json_int_t)op->per_second),
               0);
    crowd_op_free(op);
}

static void audit(struct crowd_op *op)
{
    struct line *line = &op->op.publisher->line;
    char key[KEY_SIZE], count[16], per_second[16];
    snprintf(count, sizeof count, "%" PRIu32, op->count);
    snprintf(per_second, sizeof per_second, "%" PRIu32, op->per_second);
    struct text args[] = {TEXT("XADD"),
                          key_session(key, line->prefix, text_of(op->op.session), TEXT("audit")),
                          TEXT("*"),
                          TEXT("actor"),
                          text_of(op->op.actor),
                          TEXT("action"),
                          TEXT("crowd"),
                          TEXT("count"),
                          text_of(count),
                          TEXT("perSecond"),
                          text_of(per_second)};
    enum err err = line_command(line, sizeof args / sizeof args[0], args, audited, op);
    if (err != OK)
        fail(op, err);
}

/* ---- look ---- */

static void looked(void *data, enum err err, const struct redis_reply *reply)
{
    struct crowd_op *op = data;
    struct crowds *crowds = &op->op.publisher->crowds;
    struct text session = text_of(op->op.session);
    if (err != OK) {
        fail(op, ERR_UNSENT); /* nothing was done yet */
    } else if (config_version(reply) == 0) {
        admin_unknown_session(admin_op_take(&op->op));
        crowd_op_free(op);
    } else if (!text_is(config_value(reply, "virtual"), "true")) {
        refuse(op, "not-virtual", "The session takes no virtual people", "Set \"virtual\" to true first.");
    } else if (text_is(config_value(reply, "status"), "closed")) {
        refuse(op, "closed", "The session is closed", "Nobody can join it; resume it first.");
    } else if (crowd_find(crowds, session)) {
        refuse(op, "crowd-running", "A crowd is on its way already",
               "One a session at a time: \"live.crowd\" of the session shows it.");
    } else if ((err = crowd_create(crowds, session, op->count, op->per_second, &op->crowd)) == ERR_BUSY) {
        refuse(op, "too-many-crowds", "Too many crowds", "100 sessions at once have a crowd on its way; wait for one.");
    } else if (err != OK) {
        fail(op, err);
    } else {
        audit(op);
    }
}

static void look(struct crowd_op *op)
{
    struct line *line = &op->op.publisher->line;
    char key[KEY_SIZE];
    struct text args[] = {TEXT("HGETALL"), key_session(key, line->prefix, text_of(op->op.session), TEXT("config"))};
    enum err err = line_command(line, 2, args, looked, op);
    if (err != OK)
        fail(op, err);
}

/* ---- the request ---- */

/* False: answered. */
static bool take_fields(struct http_request *request, json_t *body, struct crowd_op *op)
{
    size_t refused = memory_refused();
    json_t *errors = json_array();
    struct crowd_form form;
    crowd_form_read(body, &form, errors);
    op->count = form.count;
    op->per_second = form.per_second;
    bool complete = memory_refused() == refused, good = complete && json_array_size(errors) == 0;
    if (!complete)
        admin_unavailable(request, ERR_NOMEM);
    else if (!good)
        admin_bad_fields(request, errors);
    json_decref(errors);
    return good;
}

void crowd_post(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    struct text session;
    const struct actor *actor = admin_enter(publisher, request);
    if (!actor || !admin_session_id(request, &session))
        return;
    json_t *body = admin_body_object(request);
    struct crowd_op *op = body ? calloc(1, sizeof *op) : NULL;
    if (body && !op)
        admin_unavailable(request, ERR_NOMEM);
    if (op && take_fields(request, body, op)) {
        admin_op_begin(&op->op, publisher, request, actor, session);
        look(op);
    } else {
        free(op);
    }
    json_decref(body);
}

#include "publisher/admin_change.h"

#include "common/base/log.h"
#include "common/http/request.h"
#include "common/line/memory.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/admin_body.h"
#include "publisher/admin_form.h"
#include "publisher/change.h"
#include "publisher/publisher.h"

#include <stdlib.h>

/* BODY into CHANGE, and where it is the WHOLE session its fields; a patch is checked when it is merged. False:
 * answered. */
static bool take_fields(struct http_request *request, struct change *change, json_t *body, bool whole)
{
    size_t refused = memory_refused();
    json_t *errors = json_array();
    const char *foreign = admin_body_strip(body, change->op.session);
    if (foreign)
        admin_complain(errors, foreign, "is not the session of the path");
    enum err err = whole ? config_check(body, whole, &change->config, errors) : OK;
    if (memory_refused() != refused)
        err = ERR_NOMEM;
    if (err == ERR_NOMEM)
        admin_unavailable(request, err);
    else if (err != OK || foreign)
        admin_bad_fields(request, errors);
    json_decref(errors);
    change->body = body;
    return err == OK && !foreign;
}

/* Reads what all changes have in common. NULL: answered. */
static struct change *change_enter(struct http_request *request, struct publisher *publisher, enum change_kind kind)
{
    struct text session;
    const struct actor *actor = admin_enter(publisher, request);
    if (!actor || !admin_session_id(request, &session))
        return NULL;
    struct change *change = calloc(1, sizeof *change);
    if (!change) {
        admin_unavailable(request, ERR_NOMEM);
        return NULL;
    }
    change->kind = kind;
    if (!admin_condition_read(request, &change->condition)) {
        free(change);
        return NULL;
    }
    admin_op_begin(&change->op, publisher, request, actor, session);
    return change;
}

static void change_with_body(struct http_request *request, void *context, enum change_kind kind, bool whole)
{
    struct change *change = change_enter(request, context, kind);
    json_t *body = change ? admin_body_object(request) : NULL;
    if (!change)
        return;
    if (body && take_fields(request, change, body, whole)) {
        change_run(change);
        return;
    }
    change->op.request = NULL; /* answered */
    change_free(change);
}

void change_put(struct http_request *request, void *context)
{
    change_with_body(request, context, CHANGE_PUT, true);
}

void change_patch(struct http_request *request, void *context)
{
    change_with_body(request, context, CHANGE_PATCH, false);
}

void change_announce(struct http_request *request, void *context)
{
    struct change *change = change_enter(request, context, CHANGE_ANNOUNCE);
    json_t *body = change ? admin_body_object(request) : NULL;
    if (!change)
        return;
    const char *wrong = body ? notice_form_read(body, change->config.values[0], CONFIG_VALUE_MAX) : NULL;
    change->config.names[0] = "message";
    change->config.count = 1;
    change->body = body;
    if (body && !wrong) {
        change_run(change);
        return;
    }
    if (wrong)
        admin_problem(request, 400, "bad-request", "Not a notice", wrong);
    change->op.request = NULL; /* answered */
    change_free(change);
}

void change_delete(struct http_request *request, void *context)
{
    struct change *change = change_enter(request, context, CHANGE_DELETE);
    char force[8] = "false";
    if (!change)
        return;
    enum err err = http_request_param(request, "force", force, sizeof force);
    change->force = strcmp(force, "true") == 0;
    if ((err == OK || err == ERR_MISSING) && (change->force || strcmp(force, "false") == 0)) {
        change_run(change);
        return;
    }
    admin_problem(admin_op_take(&change->op), 400, "bad-request", "Not a force", "force is true or false.");
    change_free(change);
}

static void change_verb(struct http_request *request, void *context, enum change_kind kind)
{
    struct change *change = change_enter(request, context, kind);
    if (change)
        change_run(change);
}

void change_pause(struct http_request *request, void *context)
{
    change_verb(request, context, CHANGE_PAUSE);
}

void change_resume(struct http_request *request, void *context)
{
    change_verb(request, context, CHANGE_RESUME);
}

void change_close(struct http_request *request, void *context)
{
    change_verb(request, context, CHANGE_CLOSE);
}

void change_clear(struct http_request *request, void *context)
{
    change_verb(request, context, CHANGE_CLEAR);
}

#include "publisher/change.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/line/memory.h"
#include "common/line/seed.h"
#include "publisher/change_effect.h"
#include "publisher/publisher.h"
#include "publisher/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIES 8 /* somebody else may create, change or delete it between our look and our change */
#define ARGS_MAX (8 + 2 * CONFIG_FIELDS_MAX)

/*  LOOK ──► (ENLIST, for a new one) ──► CONFIGURE ──► SHOW ──► (end)
 *   ▲                                     │ └─deleted──► (end)
 *   └───── it came or went meanwhile ─────┘
 */
static void change_look(struct change *change);

void change_free(struct change *change)
{
    admin_op_end(&change->op);
    json_decref(change->body);
    json_decref(change->before);
    json_decref(change->merged);
    free(change);
}

/* ---- the end ---- */

static void shown(void *data, enum err err, json_t *items)
{
    struct change *change = data;
    struct http_request *request = admin_op_take(&change->op);
    json_t *item = json_array_get(items, 0);
    if (err == OK && json_is_object(item))
        admin_json(request, change->status, json_incref(item), json_integer_value(json_object_get(item, "version")));
    else if (err == OK)
        admin_unknown_session(request);
    else
        admin_unavailable(request, ERR_LOST);
    json_decref(items);
    change_free(change);
}

static void change_show(struct change *change)
{
    struct text session = text_of(change->op.session);
    enum err err = view_fetch(change->op.publisher, &session, 1, shown, change);
    if (err != OK)
        shown(change, err, NULL);
}

static void change_fail(struct change *change, enum err err)
{
    admin_unavailable(admin_op_take(&change->op), err);
    change_free(change);
}

static void change_refuse(struct change *change, int status, const char *code, const char *title, const char *detail)
{
    admin_problem(admin_op_take(&change->op), status, code, title, detail);
    change_free(change);
}

static void change_done(struct change *change, const struct redis_reply *reply)
{
    struct publisher *publisher = change->op.publisher;
    json_t *after;
    (void)!change_after(change, &after); /* without memory the line lacks it; the audit entry has it */
    change_log(change, after);
    json_decref(after);
    if (change->kind == CHANGE_ANNOUNCE)
        change_announced(change, reply);
    if (change->kind == CHANGE_DELETE) {
        change_deleted(change, reply);
        change_ring(change);
        admin_empty(admin_op_take(&change->op), 204);
        change_free(change);
        return;
    }
    change->status = change->create ? 201 : 200;
    catalog_ring(&publisher->catalog, text_of(change->op.session));
    change_ring(change);
    change_show(change);
}

/* ---- configure ---- */

static void change_conflict(struct change *change)
{
    if (change->condition.given)
        change_refuse(change, 412, "precondition-failed", "Not the version you expect",
                      "The session was changed meanwhile, or exists already: read it again.");
    else if (++change->tries < TRIES)
        change_look(change);
    else
        change_fail(change, ERR_BUSY);
}

static void configured(void *data, enum err err, const struct redis_reply *reply)
{
    struct change *change = data;
    switch ((int)line_outcome_of(err, reply)) {
    case LINE_OK:
        change_done(change, reply);
        break;
    case LINE_CONFLICT:
        change_conflict(change);
        break;
    case LINE_IN_USE:
        change_refuse(change, 409, "session-in-use", "People are waiting", change_in_use(change));
        break;
    case LINE_NONE:
        if (change->kind == CHANGE_PUT) {
            change_conflict(change);
        } else {
            admin_unknown_session(admin_op_take(&change->op));
            change_free(change);
        }
        break;
    default:
        if (err == ERR_REPLY)
            log_event(LOG_ERROR, "unconfigured", LOG_S("session", change->op.session),
                      LOG_T("detail", reply_text(reply)));
        change_fail(change, err == OK ? ERR_PROTOCOL : err);
    }
}

static const char *expected(const struct change *change, char version[24])
{
    if (change->condition.given)
        return change->condition.expected;
    if (change->kind == CHANGE_PUT)
        return change->create ? "absent" : "";
    if (!change->merged || json_equal(change->merged, change->body))
        return "*";
    snprintf(version, 24, "%" PRId64, change->before_version); /* what was merged is merged with that version only */
    return version;
}

static void change_configure(struct change *change)
{
    const struct change_row *row = change_row(change);
    json_t *after;
    enum err err = change_after(change, &after);
    char *text = after ? memory_dumps(after, JSON_COMPACT) : NULL, seed[SEED_SIZE], hash[SEED_SIZE], version[24];
    if (after && !text)
        err = ERR_NOMEM;
    if (err == OK)
        err = seed_draw(seed, hash);
    if (err != OK) {
        json_decref(after);
        free(text);
        change_fail(change, err);
        return;
    }
    struct text args[ARGS_MAX] = {
        text_of(change->create ? "create" : row->operation),
        text_of(expected(change, version)),
        change->force ? TEXT("force") : TEXT(""),
        text_of(change->op.actor),
        text_of(change_action(change)),
        text_of(text ? text : "null"),
        text_of(seed),
        text_of(hash),
    };
    size_t count = 8;
    for (size_t i = 0; i < change->config.count; i++) {
        args[count++] = text_of(change->config.names[i]);
        args[count++] = text_of(change->config.values[i]);
    }
    if (row->status) {
        args[count++] = TEXT("status");
        args[count++] = text_of(row->status);
    }
    err = line_eval(&change->op.publisher->line, &script_configure, text_of(change->op.session), count, args,
                    configured, change);
    json_decref(after);
    free(text);
    if (err != OK)
        change_fail(change, err);
}

/* ---- look ---- */

static void enlisted(void *data, enum err err, const struct redis_reply *reply)
{
    struct change *change = data;
    (void)reply;
    if (err == OK)
        change_configure(change);
    else
        change_fail(change, ERR_UNSENT);
}

/* A session is in the set before it has a config: one that nobody looks after must not be joined. */
static void change_enlist(struct change *change)
{
    struct line *line = &change->op.publisher->line;
    char key[KEY_SIZE];
    struct text args[] = {TEXT("SADD"), key_global(key, line->prefix, "sessions"), text_of(change->op.session)};
    enum err err = line_command(line, 3, args, enlisted, change);
    if (err != OK)
        change_fail(change, err);
}

static bool condition_holds(const struct change *change, int64_t version)
{
    int64_t wanted;
    struct text expected = text_of(change->condition.expected);
    return !change->condition.given || text_is(expected, "*") ||
           (text_int(expected, 0, INT64_MAX, &wanted) == OK && wanted == version);
}

/* It is as it is to be: the verbs are idempotent, and a patch that changes nothing is no change. */
static bool already(const struct change *change, int64_t version)
{
    bool changes = change->kind == CHANGE_PATCH || change_row(change)->status;
    if (!changes || !change->before || !condition_holds(change, version))
        return false;
    json_t *after;
    bool same = change_after(change, &after) == OK && json_equal(change->before, after);
    json_decref(after);
    return same;
}

/* False: answered. */
static bool merge(struct change *change)
{
    json_t *errors = json_array();
    json_decref(change->merged);
    change->merged = config_merge(change->before, change->body);
    enum err err = errors && change->merged ? config_check(change->merged, false, &change->config, errors) : ERR_NOMEM;
    struct http_request *request = err == OK ? NULL : admin_op_take(&change->op);
    if (request && err == ERR_NOMEM)
        admin_unavailable(request, err);
    else if (request)
        admin_bad_fields(request, errors);
    json_decref(errors);
    return err == OK;
}

static void looked(void *data, enum err err, const struct redis_reply *reply)
{
    struct change *change = data;
    bool conditional = change->condition.given && strcmp(change->condition.expected, "absent") != 0;
    if (err != OK) {
        change_fail(change, ERR_UNSENT); /* whatever it was: nothing was changed */
        return;
    }
    json_decref(change->before);
    change->before_version = config_version(reply);
    change->before = change->before_version > 0 ? config_json(reply) : NULL;
    if (change->before_version > 0 && !change->before) {
        change_fail(change, ERR_UNSENT); /* no memory for what is there: not to be taken for nothing */
        return;
    }
    change->create = change->kind == CHANGE_PUT && !conditional &&
                     (!change->before || strcmp(change->condition.expected, "absent") == 0);
    if (change->kind == CHANGE_PATCH && change->before && !merge(change)) {
        change_free(change);
    } else if (already(change, change->before_version)) {
        change->status = 200;
        change_show(change);
    } else if (change->create && !change->before) {
        change_enlist(change);
    } else {
        change_configure(change);
    }
}

static void change_look(struct change *change)
{
    struct line *line = &change->op.publisher->line;
    char key[KEY_SIZE];
    struct text args[] = {TEXT("HGETALL"), key_session(key, line->prefix, text_of(change->op.session), TEXT("config"))};
    enum err err = line_command(line, 2, args, looked, change);
    if (err != OK)
        change_fail(change, err);
}

void change_run(struct change *change)
{
    change_look(change);
}

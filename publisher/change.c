#include "publisher/change.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "publisher/announce.h"
#include "publisher/publisher.h"
#include "publisher/view.h"

#include <stdlib.h>

#define TRIES 3 /* somebody else may create or delete it between our look and our change */
#define ARGS_MAX (6 + 2 * CONFIG_FIELDS_MAX)

/*  LOOK ──► (ENLIST, for a new one) ──► CONFIGURE ──► SHOW ──► (end)
 *   ▲                                     │ └─deleted──► (end)
 *   └───── it came or went meanwhile ─────┘
 */
static void change_look(struct change *change);

static const struct change_row {
    const char *operation; /* of the configure script */
    const char *action;    /* for the log and the audit */
    const char *status;    /* the config's status this sets; NULL */
} rows[] = {
    [CHANGE_PUT] = {"replace", "replace", NULL},      [CHANGE_PATCH] = {"patch", "patch", NULL},
    [CHANGE_DELETE] = {"delete", "delete", NULL},     [CHANGE_PAUSE] = {"patch", "pause", "paused"},
    [CHANGE_RESUME] = {"patch", "resume", "open"},    [CHANGE_CLOSE] = {"patch", "close", "closed"},
    [CHANGE_CLEAR] = {"clear", "clear", NULL},
};

void change_free(struct change *change)
{
    admin_op_end(&change->op);
    json_decref(change->body);
    json_decref(change->before);
    free(change);
}

static const char *action(const struct change *change)
{
    return change->create ? "create" : rows[change->kind].action;
}

/* ---- the end ---- */

static void change_log(const struct change *change, const json_t *after)
{
    char *before = change->before ? json_dumps(change->before, JSON_COMPACT) : NULL;
    char *text = after ? json_dumps(after, JSON_COMPACT) : NULL;
    log_event(LOG_INFO, "admin", LOG_S("session", change->op.session), LOG_S("actor", change->op.actor), LOG_S("action", action(change)),
              LOG_S("before", before ? before : "null"), LOG_S("after", text ? text : "null"));
    free(before);
    free(text);
}

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

/* ---- what follows from a change ---- */

/* The owner may be another publisher. A bell that is not heard costs one tick. */
static void ring(struct publisher *publisher, const char *session)
{
    char key[KEY_SIZE];
    struct text args[] = {TEXT("PUBLISH"), key_global(key, publisher->line.prefix, "doorbell"), text_of(session)};
    if (line_command(&publisher->line, 3, args, NULL, NULL) != OK)
        log_event(LOG_DEBUG, "unrung", LOG_S("session", session));
}

static void deleted(struct change *change, const struct redis_reply *reply)
{
    struct publisher *publisher = change->op.publisher;
    struct text session = text_of(change->op.session);
    const struct redis_reply *servers = reply_at(reply, 3);
    struct owner *owner = catalog_find(&publisher->catalog, session);
    struct message closed = announce_closed((uint64_t)reply_int(reply_at(reply, 2), 0), session, TEXT("closed"), TAIL_ALL);
    char key[KEY_SIZE];
    for (size_t i = 0; i < reply_len(servers); i++) {
        struct message_command command;
        struct text server = reply_text(reply_at(servers, i));
        if (!server_id_valid(server_name_id(server)))
            continue;
        message_encode(&command, publisher->line.prefix, server, &closed);
        if (line_command(&publisher->line, command.count, command.args, NULL, NULL) != OK)
            log_event(LOG_WARN, "closed-untold", LOG_T("session", session), LOG_T("server", server));
    }
    struct text args[] = {TEXT("SREM"), key_global(key, publisher->line.prefix, "sessions"), session};
    if (line_command(&publisher->line, 3, args, NULL, NULL) != OK) /* an id without a config is tolerated */
        log_event(LOG_WARN, "still-listed", LOG_T("session", session));
    if (owner)
        catalog_drop(&publisher->catalog, owner);
}

/* before with the body's fields; null takes one back to its default. */
static json_t *merged(const struct change *change)
{
    json_t *defaults = config_json(NULL), *after, *value;
    const char *name;
    if (change->kind == CHANGE_DELETE) {
        json_decref(defaults);
        return NULL;
    }
    after = change->kind == CHANGE_PUT || !change->before ? json_copy(defaults) : json_copy(change->before);
    json_object_foreach(change->body, name, value)
        json_object_set(after, name, json_is_null(value) ? json_object_get(defaults, name) : value);
    if (rows[change->kind].status)
        json_object_set_new(after, "status", json_string(rows[change->kind].status));
    json_decref(defaults);
    return after;
}

static void change_done(struct change *change, const struct redis_reply *reply)
{
    struct publisher *publisher = change->op.publisher;
    json_t *after = merged(change);
    change_log(change, after);
    json_decref(after);
    if (change->kind == CHANGE_DELETE) {
        deleted(change, reply);
        ring(publisher, change->op.session);
        admin_empty(admin_op_take(&change->op), 204);
        change_free(change);
        return;
    }
    change->status = change->create ? 201 : 200;
    catalog_ring(&publisher->catalog, text_of(change->op.session));
    ring(publisher, change->op.session);
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
        change_refuse(change, 409, "session-in-use", "People are waiting",
                      change->kind == CHANGE_DELETE ? "Delete with ?force=true sends them away."
                                                    : "Replace with If-Match, or PATCH what is to change.");
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
            log_event(LOG_ERROR, "unconfigured", LOG_S("session", change->op.session), LOG_T("detail", reply_text(reply)));
        change_fail(change, err == OK ? ERR_PROTOCOL : err);
    }
}

static const char *expected(const struct change *change)
{
    if (change->condition.given)
        return change->condition.expected;
    if (change->kind == CHANGE_PUT)
        return change->create ? "absent" : "";
    return "*";
}

static void change_configure(struct change *change)
{
    const struct change_row *row = &rows[change->kind];
    json_t *after = merged(change);
    char *text = after ? json_dumps(after, JSON_COMPACT) : NULL;
    struct text args[ARGS_MAX] = {
        text_of(change->create ? "create" : row->operation), text_of(expected(change)), change->force ? TEXT("force") : TEXT(""),
        text_of(change->op.actor), text_of(action(change)), text_of(text ? text : "null"),
    };
    size_t count = 6;
    for (size_t i = 0; i < change->config.count; i++) {
        args[count++] = text_of(change->config.names[i]);
        args[count++] = text_of(change->config.values[i]);
    }
    if (row->status) {
        args[count++] = TEXT("status");
        args[count++] = text_of(row->status);
    }
    enum err err = line_eval(&change->op.publisher->line, &script_configure, text_of(change->op.session), count, args, configured, change);
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
        change_fail(change, err);
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

static bool already(const struct change *change)
{
    const char *status = rows[change->kind].status, *now = json_string_value(json_object_get(change->before, "status"));
    return status && now && strcmp(status, now) == 0 && !change->condition.given;
}

static void looked(void *data, enum err err, const struct redis_reply *reply)
{
    struct change *change = data;
    bool conditional = change->condition.given && strcmp(change->condition.expected, "absent") != 0;
    if (err != OK) {
        change_fail(change, err == ERR_REPLY ? ERR_REPLY : ERR_UNSENT);
        return;
    }
    json_decref(change->before);
    change->before = config_version(reply) > 0 ? config_json(reply) : NULL;
    change->create = change->kind == CHANGE_PUT && !conditional &&
                     (!change->before || strcmp(change->condition.expected, "absent") == 0);
    if (already(change)) { /* the verbs are idempotent */
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

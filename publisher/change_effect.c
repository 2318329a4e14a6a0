#include "publisher/change_effect.h"

#include "common/base/log.h"
#include "common/line/memory.h"
#include "publisher/announce.h"
#include "publisher/publisher.h"

#include <stdlib.h>

static const struct change_row rows[] = {
    [CHANGE_PUT] = {"replace", "replace", NULL},   [CHANGE_PATCH] = {"patch", "patch", NULL},
    [CHANGE_DELETE] = {"delete", "delete", NULL},  [CHANGE_PAUSE] = {"patch", "pause", "paused"},
    [CHANGE_RESUME] = {"patch", "resume", "open"}, [CHANGE_CLOSE] = {"patch", "close", "closed"},
    [CHANGE_CLEAR] = {"clear", "clear", NULL},     [CHANGE_ANNOUNCE] = {"announce", "announce", NULL},
};

const struct change_row *change_row(const struct change *change)
{
    return &rows[change->kind];
}

const char *change_action(const struct change *change)
{
    return change->create ? "create" : rows[change->kind].action;
}

void change_log(const struct change *change, const json_t *after)
{
    char *before = change->before ? memory_dumps(change->before, JSON_COMPACT) : NULL;
    char *text = after ? memory_dumps(after, JSON_COMPACT) : NULL;
    log_event(LOG_INFO, "admin", LOG_S("session", change->op.session), LOG_S("actor", change->op.actor),
              LOG_S("action", change_action(change)), LOG_S("before", before || change->before ? before : "null"),
              LOG_S("after", text || change->kind != CHANGE_DELETE ? text : "null"));
    free(before);
    free(text);
}

void change_ring(const struct change *change)
{
    struct publisher *publisher = change->op.publisher;
    const char *session = change->op.session;
    char key[KEY_SIZE];
    struct text args[] = {TEXT("PUBLISH"), key_global(key, publisher->line.prefix, "doorbell"), text_of(session)};
    if (line_command(&publisher->line, 3, args, NULL, NULL) != OK)
        log_event(LOG_DEBUG, "unrung", LOG_S("session", session));
}

/* A hint to each gateway: one that misses it sees the next picture. */
static void tell(const struct change *change, const struct redis_reply *servers, const struct message *message)
{
    struct line *line = &change->op.publisher->line;
    for (size_t i = 0; i < reply_len(servers); i++) {
        struct message_command command;
        struct text server = reply_text(reply_at(servers, i));
        if (!server_id_valid(server_name_id(server)))
            continue;
        message_encode(&command, line->prefix, server, message);
        if (line_command(line, command.count, command.args, NULL, NULL) != OK)
            log_event(LOG_WARN, "change-untold", LOG_S("session", change->op.session), LOG_T("server", server));
    }
}

void change_deleted(const struct change *change, const struct redis_reply *reply)
{
    struct publisher *publisher = change->op.publisher;
    struct text session = text_of(change->op.session);
    const struct redis_reply *servers = reply_at(reply, 3);
    struct owner *owner = catalog_find(&publisher->catalog, session);
    struct message closed =
        announce_closed((uint64_t)reply_int(reply_at(reply, 2), 0), session, TEXT("closed"), TAIL_ALL);
    char key[KEY_SIZE];
    tell(change, servers, &closed);
    struct text args[] = {TEXT("SREM"), key_global(key, publisher->line.prefix, "sessions"), session};
    if (line_command(&publisher->line, 3, args, NULL, NULL) != OK) /* an id without a config is tolerated */
        log_event(LOG_WARN, "still-listed", LOG_T("session", session));
    if (owner)
        catalog_drop(&publisher->catalog, owner);
}

void change_announced(const struct change *change, const struct redis_reply *reply)
{
    const struct redis_reply *servers = reply_at(reply, 3);
    struct message notice = announce_notice((uint64_t)reply_int(reply_at(reply, 2), 0), text_of(change->op.session),
                                            text_of(change->config.values[0]), reply_int(reply_at(reply, 4), 0));
    tell(change, servers, &notice);
}

const char *change_in_use(const struct change *change)
{
    if (change->kind == CHANGE_DELETE)
        return "Delete with ?force=true sends them away.";
    if (change->kind == CHANGE_PATCH || change->condition.given)
        return "People are in the lobby: its order cannot change now, and a draw under way cannot be put off.";
    return "Replace with If-Match, or PATCH what is to change.";
}

static json_t *merged_with_body(const struct change *change)
{
    json_t *defaults = config_json(NULL), *value;
    json_t *after = json_copy(change->kind == CHANGE_PUT || !change->before ? defaults : change->before);
    const char *name;
    json_object_foreach(change->merged ? change->merged : change->body, name, value)
        json_object_set(after, name, json_is_null(value) ? json_object_get(defaults, name) : value);
    if (rows[change->kind].status)
        json_object_set_new(after, "status", json_string(rows[change->kind].status));
    json_decref(defaults);
    return after;
}

enum err change_after(const struct change *change, json_t **after)
{
    size_t refused = memory_refused();
    *after = NULL;
    if (change->kind == CHANGE_ANNOUNCE)
        *after = json_pack("{s:s}", "message", change->config.values[0]);
    else if (change->kind != CHANGE_DELETE)
        *after = merged_with_body(change);
    if (memory_refused() == refused)
        return OK;
    json_decref(*after);
    *after = NULL;
    return ERR_NOMEM;
}

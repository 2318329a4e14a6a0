#include "publisher/admin_server.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/request.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/publisher.h"

#include <stdlib.h>

/** SERVERS ──► LAG (all streams at once) ──► (end) */
struct servers_op {
    struct admin_op op;
    json_t *items;
    struct lag {
        struct servers_op *op;
        json_t *item; /* borrowed from items */
    } * lags;
    size_t unanswered;
    enum err err; /* the first that failed */
};

static void servers_end(struct servers_op *op)
{
    struct http_request *request = admin_op_take(&op->op);
    if (op->err == OK)
        admin_json(request, 200, json_pack("{s:O}", "items", op->items), 0);
    else
        admin_unavailable(request, op->err);
    admin_op_end(&op->op);
    json_decref(op->items);
    free(op->lags);
    free(op);
}

/* ---- one server ---- */

static size_t sessions_of(const struct publisher *publisher, struct text server)
{
    size_t count = 0;
    MAP_EACH(&publisher->catalog.owners, node, next, cursor)
    count += owner_serves(CONTAINER_OF(node, struct owner, node), server);
    return count;
}

static json_t *server_json(const struct publisher *publisher, struct text name, int64_t beat_ms)
{
    const struct pulse *pulse = pulse_find(&publisher->reaper.pulses, name);
    struct text id = server_name_id(name), boot = server_name_boot(name);
    char instant[CLOCK_RFC3339_SIZE];
    clock_rfc3339(instant, beat_ms);
    json_t *item =
        json_pack("{s:s%, s:s%, s:s%, s:s, s:b, s:I, s:n, s:n}", "server", name.at, name.len, "id", id.at, id.len,
                  "boot", boot.at, boot.len, "heartbeatAt", instant, "alive", pulse && pulse->still_ms < PULSE_STILL_MS,
                  "sessions", (json_int_t)sessions_of(publisher, name), "lag", "pending");
    json_object_set_new(item, "silentMs", pulse ? json_integer((json_int_t)pulse->still_ms) : json_null());
    return item;
}

/* XINFO GROUPS: an array of groups, each an array of names and values. */
static void lag_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct lag *lag = data;
    struct servers_op *op = lag->op;
    for (size_t g = 0; err == OK && g < reply_len(reply); g++) {
        const struct redis_reply *group = reply_at(reply, g);
        for (size_t i = 0; i + 1 < reply_len(group); i += 2) {
            struct text name = reply_text(reply_at(group, i));
            const struct redis_reply *value = reply_at(group, i + 1);
            const char *shown = text_is(name, "lag") ? "lag" : text_is(name, "pending") ? "pending" : NULL;
            if (shown && reply_kind(value) == REPLY_INTEGER)
                json_object_set_new(lag->item, shown, json_integer(reply_int(value, 0)));
        }
    }
    if (err != OK && err != ERR_REPLY) /* an error: it has no stream (yet) */
        op->err = err;
    if (--op->unanswered == 0)
        servers_end(op);
}

/* ---- all ---- */

static void lag_ask(struct servers_op *op, struct lag *lag, struct text name, int64_t beat_ms)
{
    struct publisher *publisher = op->op.publisher;
    char key[KEY_SIZE];
    if (!server_id_valid(server_name_id(name)))
        return;
    *lag = (struct lag){op, server_json(publisher, name, beat_ms)};
    json_array_append_new(op->items, lag->item);
    struct text args[] = {TEXT("XINFO"), TEXT("GROUPS"),
                          key_server(key, publisher->line.prefix, server_name_id(name), "stream")};
    enum err err = line_command(&publisher->line, 3, args, lag_answered, lag);
    if (err == OK)
        op->unanswered++;
    else
        op->err = err;
}

static void servers_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct servers_op *op = data;
    size_t count = reply_len(reply) / 2;
    op->items = json_array();
    op->lags = calloc(count + 1, sizeof *op->lags);
    op->err = err == OK && (!op->items || !op->lags) ? ERR_NOMEM : err;
    for (size_t i = 0; op->err == OK && i < count; i++)
        lag_ask(op, &op->lags[i], reply_text(reply_at(reply, 2 * i)), reply_int(reply_at(reply, 2 * i + 1), 0));
    if (op->unanswered == 0)
        servers_end(op);
}

void servers_list(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    const struct actor *actor = admin_enter(publisher, request);
    struct servers_op *op = actor ? calloc(1, sizeof *op) : NULL;
    char key[KEY_SIZE];
    if (actor && !op)
        admin_unavailable(request, ERR_NOMEM);
    if (!op)
        return;
    admin_op_begin(&op->op, publisher, request, actor, TEXT(""));
    struct text args[] = {TEXT("ZRANGE"), key_global(key, publisher->line.prefix, "servers"), TEXT("0"), TEXT("-1"),
                          TEXT("WITHSCORES")};
    op->err = line_command(&publisher->line, 5, args, servers_answered, op);
    if (op->err != OK)
        servers_end(op);
}

void server_remove(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    struct text server = http_request_segment(request, "server");
    const struct actor *actor = admin_enter(publisher, request);
    if (!actor)
        return;
    switch (reaper_condemn(&publisher->reaper, server)) {
    case CONDEMNED:
        log_event(LOG_INFO, "admin", LOG_T("server", server), LOG_S("actor", actor->name),
                  LOG_S("action", "remove-server"));
        admin_empty(request, 202);
        break;
    case CONDEMN_ALIVE:
        admin_problem(request, 409, "server-alive", "It is alive",
                      "Its heartbeat moved within the last 2 seconds: stop it first.");
        break;
    case CONDEMN_UNKNOWN:
        admin_problem(request, 404, "not-found", "No such server",
                      "No gateway of this name is registered or has connections.");
        break;
    }
}

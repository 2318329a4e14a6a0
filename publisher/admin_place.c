#include "publisher/admin_place.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/request.h"
#include "common/line/memory.h"
#include "common/line/message.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/publisher.h"

#include <stdlib.h>

/** STATUS ──► (show) or LEAVE ──► (end) */
struct place_op {
    struct admin_op op;
    bool evict;
    char place[PLACE_ID_LEN + 1];
    uint64_t epoch;
};

static void place_end(struct place_op *op)
{
    admin_op_end(&op->op);
    free(op);
}

static void place_fail(struct place_op *op, enum err err)
{
    admin_unavailable(admin_op_take(&op->op), err);
    place_end(op);
}

static void place_missing(struct place_op *op)
{
    admin_problem(admin_op_take(&op->op), 404, "not-found", "No such place",
                  "There is no such place in this session, or not any more.");
    place_end(op);
}

/* ---- show ---- */

static json_t *expiry_json(struct text token)
{
    int64_t issued_s, expires_s;
    char instant[CLOCK_RFC3339_SIZE];
    if (token_entry_times(token, &issued_s, &expires_s) != OK)
        return json_null();
    clock_rfc3339(instant, expires_s * 1000);
    return json_string(instant);
}

static json_t *place_write(const struct place_op *op, const struct line_place *place)
{
    json_t *server =
        place->server_before.len ? json_stringn(place->server_before.at, place->server_before.len) : json_null();
    const char *status = place->outcome == LINE_WAITING    ? "WAITING"
                         : place->outcome == LINE_LOBBY    ? "LOBBY"
                         : place->outcome == LINE_ADMITTED ? "ADMITTED"
                                                           : "ENTERED";
    json_t *object = json_pack("{s:s, s:s, s:s}", "sessionId", op->op.session, "placeId", op->place, "status", status);
    if (place->outcome == LINE_ENTERED) {
        json_decref(server);
        json_object_set_new(object, "expiresAt", expiry_json(place->token));
        return object;
    }
    if (place->outcome != LINE_LOBBY)
        json_object_set_new(object, "ticket", json_integer((json_int_t)place->ticket));
    json_object_set_new(object, "server", server);
    if (place->outcome == LINE_WAITING) {
        json_object_set_new(object, "position", json_integer((json_int_t)place->position));
        json_object_set_new(object, "waiting", json_integer((json_int_t)place->waiting));
    }
    return object;
}

/* NULL without memory for all of it. */
static json_t *place_json(const struct place_op *op, const struct line_place *place)
{
    size_t refused = memory_refused();
    json_t *object = place_write(op, place);
    if (memory_refused() == refused)
        return object;
    json_decref(object);
    return NULL;
}

/* ---- evict ---- */

static void tell_server(const struct place_op *op, struct text server)
{
    struct line *line = &op->op.publisher->line;
    struct message_command command;
    struct message closed = {.type = MESSAGE_CLOSED,
                             .session = text_of(op->op.session),
                             .epoch = op->epoch,
                             .reason = TEXT("evicted"),
                             .place = text_of(op->place)};
    if (!server_id_valid(server_name_id(server)))
        return; /* no connection just now */
    message_encode(&command, line->prefix, server, &closed);
    if (line_command(line, command.count, command.args, NULL, NULL) != OK)
        log_event(LOG_WARN, "closed-untold", LOG_S("session", op->op.session), LOG_T("server", server));
}

static void record(const struct place_op *op)
{
    struct line *line = &op->op.publisher->line;
    char key[KEY_SIZE];
    struct text args[] = {TEXT("XADD"),
                          key_session(key, line->prefix, text_of(op->op.session), TEXT("audit")),
                          TEXT("*"),
                          TEXT("actor"),
                          text_of(op->op.actor),
                          TEXT("action"),
                          TEXT("evict"),
                          TEXT("place"),
                          text_of(op->place)};
    log_event(LOG_INFO, "admin", LOG_S("session", op->op.session), LOG_S("place", op->place),
              LOG_S("actor", op->op.actor), LOG_S("action", "evict"));
    if (line_command(line, sizeof args / sizeof args[0], args, NULL, NULL) != OK)
        log_event(LOG_WARN, "audit-unwritten", LOG_S("session", op->op.session));
}

static void left(void *data, enum err err, const struct redis_reply *reply)
{
    struct place_op *op = data;
    enum line_outcome outcome = line_outcome_of(err, reply);
    if (outcome == LINE_GONE || outcome == LINE_NONE) { /* admitted or gone meanwhile */
        place_missing(op);
        return;
    }
    if (outcome != LINE_DEPARTED) {
        place_fail(op, err == OK ? ERR_PROTOCOL : err);
        return;
    }
    tell_server(op, reply_text(reply_at(reply, 1)));
    record(op);
    catalog_ring(&op->op.publisher->catalog, text_of(op->op.session));
    admin_empty(admin_op_take(&op->op), 204);
    place_end(op);
}

static void evict(struct place_op *op, const struct line_place *place)
{
    if (place->outcome != LINE_WAITING && place->outcome != LINE_LOBBY) {
        admin_problem(admin_op_take(&op->op), 409, "already-entered", "Admitted already",
                      "Only a waiting place can be evicted.");
        place_end(op);
        return;
    }
    op->epoch = place->epoch;
    enum err err = line_leave(&op->op.publisher->line, text_of(op->op.session), text_of(op->place), 0, left, op);
    if (err != OK)
        place_fail(op, err);
}

/* ---- both ---- */

static void found(void *data, enum err err, const struct redis_reply *reply)
{
    struct place_op *op = data;
    struct line_place place;
    line_place_decode(err, reply, &place);
    switch ((int)place.outcome) {
    case LINE_WAITING:
    case LINE_LOBBY:
    case LINE_ADMITTED:
    case LINE_ENTERED:
        if (op->evict) {
            evict(op, &place);
            return;
        }
        admin_json(admin_op_take(&op->op), 200, place_json(op, &place), 0);
        place_end(op);
        return;
    case LINE_NONE:
    case LINE_DELETED:
        admin_unknown_session(admin_op_take(&op->op));
        place_end(op);
        return;
    case LINE_GONE:
        place_missing(op);
        return;
    default:
        place_fail(op, err == OK ? ERR_PROTOCOL : err);
    }
}

static void place_begin(struct http_request *request, struct publisher *publisher, bool is_evict)
{
    struct line_known nothing = {0, 0};
    struct text session, place = http_request_segment(request, "place");
    const struct actor *actor = admin_enter(publisher, request);
    if (!actor || !admin_session_id(request, &session))
        return;
    struct place_op *op = calloc(1, sizeof *op);
    if (!op) {
        admin_unavailable(request, ERR_NOMEM);
        return;
    }
    op->evict = is_evict;
    admin_op_begin(&op->op, publisher, request, actor, session);
    if (!place_id_valid(place) || text_copy(op->place, sizeof op->place, place) != OK) {
        place_missing(op);
        return;
    }
    enum err err = line_status(&publisher->line, session, place, false, &nothing, found, op);
    if (err != OK)
        place_fail(op, err);
}

void place_show(struct http_request *request, void *context)
{
    place_begin(request, context, false);
}

void place_evict(struct http_request *request, void *context)
{
    place_begin(request, context, true);
}

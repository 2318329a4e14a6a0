#include "publisher/admin_server.h"

#include "common/base/log.h"
#include "common/http/request.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/publisher.h"
#include "publisher/server_view.h"

#include <stdlib.h>

static void servers_fetched(void *data, enum err err, json_t *items, size_t more)
{
    struct admin_op *op = data;
    struct http_request *request = admin_op_take(op);
    (void)more;
    if (err == OK)
        admin_json(request, 200, json_pack("{s:o}", "items", items), 0);
    else
        admin_unavailable(request, err);
    admin_op_end(op);
    free(op);
}

void servers_list(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    const struct actor *actor = admin_enter(publisher, request);
    struct admin_op *op = actor ? calloc(1, sizeof *op) : NULL;
    if (actor && !op)
        admin_unavailable(request, ERR_NOMEM);
    if (!op)
        return;
    admin_op_begin(op, publisher, request, actor, TEXT(""));
    enum err err = servers_fetch(publisher, SIZE_MAX, servers_fetched, op);
    if (err != OK)
        servers_fetched(op, err, NULL, 0);
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

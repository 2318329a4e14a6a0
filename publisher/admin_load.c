#include "publisher/admin_load.h"

#include "common/base/log.h"
#include "common/http/request.h"
#include "common/line/memory.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/admin_body.h"
#include "publisher/admin_form.h"
#include "publisher/publisher.h"

#include <stdio.h>
#include <stdlib.h>

/* Only a key that some session reads: this is not a way to write anywhere in Redis. */
static bool key_is_read(const struct publisher *publisher, const char *key)
{
    MAP_EACH(&publisher->catalog.owners, node, next, cursor)
    if (strcmp(CONTAINER_OF(node, struct owner, node)->load_key, key) == 0)
        return true;
    return false;
}

static void load_written(void *data, enum err err, const struct redis_reply *reply)
{
    struct admin_op *op = data;
    struct http_request *request = admin_op_take(op);
    (void)reply;
    if (err == OK)
        admin_empty(request, 204);
    else
        admin_unavailable(request, err);
    admin_op_end(op);
    free(op);
}

static enum err load_write(struct admin_op *op, const struct load_form *form)
{
    struct line *line = &op->publisher->line;
    char key[LOAD_KEY_SIZE], tps[LOAD_TEXT_SIZE], ttl[16];
    snprintf(tps, sizeof tps, "%.15g", form->tps);
    snprintf(ttl, sizeof ttl, "%lld", (long long)form->ttl_s);
    struct text args[] = {TEXT("SET"), key_load(key, line->prefix, form->key), text_of(tps), TEXT("EX"), text_of(ttl)};
    log_event(LOG_DEBUG, "load", LOG_S("actor", op->actor), LOG_S("key", form->key), LOG_S("tps", tps));
    return line_command(line, 5, args, load_written, op);
}

void load_put(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    const struct actor *actor = admin_enter(publisher, request);
    size_t refused = memory_refused();
    json_t *body = actor ? admin_body_object(request) : NULL, *errors = body ? json_array() : NULL;
    struct load_form form;
    if (!body)
        return;
    load_form_read(body, &form, errors);
    if (form.key && load_key_valid(form.key) && !key_is_read(publisher, form.key))
        admin_complain(errors, "key", "is no session's loadKey");
    bool complete = memory_refused() == refused, good = complete && json_array_size(errors) == 0;
    struct admin_op *op = good ? calloc(1, sizeof *op) : NULL;
    if (complete && !good) {
        admin_bad_fields(request, errors);
    } else if (!op) {
        admin_unavailable(request, ERR_NOMEM);
    } else {
        admin_op_begin(op, publisher, request, actor, TEXT(""));
        enum err err = load_write(op, &form);
        if (err != OK)
            load_written(op, err, NULL);
    }
    json_decref(body);
    json_decref(errors);
}

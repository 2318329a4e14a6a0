#include "publisher/admin_load.h"

#include "common/base/log.h"
#include "common/http/request.h"
#include "common/line/memory.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/admin_body.h"
#include "publisher/publisher.h"

#include <stdio.h>
#include <stdlib.h>

#define TTL_MAX_S 3600

/* Only a key that some session reads: this is not a way to write anywhere in Redis. */
static bool key_is_read(const struct publisher *publisher, const char *key)
{
    MAP_EACH(&publisher->catalog.owners, node, next, cursor)
    if (strcmp(CONTAINER_OF(node, struct owner, node)->load_key, key) == 0)
        return true;
    return false;
}

struct report {
    double tps;
    json_int_t ttl_s;
    const char *key;
};

static void report_read(const struct publisher *publisher, const json_t *body, struct report *report, json_t *errors)
{
    const json_t *tps = json_object_get(body, "tps"), *ttl = json_object_get(body, "ttlSeconds"),
                 *key = json_object_get(body, "key"), *value;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)body, name, value) if (value != tps && value != ttl && value != key)
        admin_complain(errors, name, "is not a field of a load");
    report->tps = json_number_value(tps);
    report->ttl_s = json_integer_value(ttl);
    report->key = key ? json_string_value(key) : LOAD_KEY_DEFAULT;
    if (!json_is_number(tps) || !load_valid(report->tps))
        admin_complain(errors, "tps", "must be a number from 0 to 1e9");
    if (!json_is_integer(ttl) || report->ttl_s < 1 || report->ttl_s > TTL_MAX_S)
        admin_complain(errors, "ttlSeconds", "must be a whole number from 1 to 3600");
    if (!report->key || (key && strlen(report->key) != json_string_length(key)) || !load_key_valid(report->key))
        admin_complain(errors, "key", "must be a session's loadKey");
    else if (!key_is_read(publisher, report->key))
        admin_complain(errors, "key", "is no session's loadKey");
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

static enum err load_write(struct admin_op *op, const struct report *report)
{
    struct line *line = &op->publisher->line;
    char key[LOAD_KEY_SIZE], tps[LOAD_TEXT_SIZE], ttl[16];
    snprintf(tps, sizeof tps, "%.15g", report->tps);
    snprintf(ttl, sizeof ttl, "%lld", (long long)report->ttl_s);
    struct text args[] = {TEXT("SET"), key_load(key, line->prefix, report->key), text_of(tps), TEXT("EX"),
                          text_of(ttl)};
    log_event(LOG_DEBUG, "load", LOG_S("actor", op->actor), LOG_S("key", report->key), LOG_S("tps", tps));
    return line_command(line, 5, args, load_written, op);
}

void load_put(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    const struct actor *actor = admin_enter(publisher, request);
    size_t refused = memory_refused();
    json_t *body = actor ? admin_body_object(request) : NULL, *errors = body ? json_array() : NULL;
    struct report report;
    if (!body)
        return;
    report_read(publisher, body, &report, errors);
    bool complete = memory_refused() == refused, good = complete && json_array_size(errors) == 0;
    struct admin_op *op = good ? calloc(1, sizeof *op) : NULL;
    if (complete && !good) {
        admin_bad_fields(request, errors);
    } else if (!op) {
        admin_unavailable(request, ERR_NOMEM);
    } else {
        admin_op_begin(op, publisher, request, actor, TEXT(""));
        enum err err = load_write(op, &report);
        if (err != OK)
            load_written(op, err, NULL);
    }
    json_decref(body);
    json_decref(errors);
}

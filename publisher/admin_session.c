#include "publisher/admin_session.h"

#include "common/http/request.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/publisher.h"
#include "publisher/view.h"

#include <stdlib.h>

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 500

struct listing {
    struct admin_op op;
    char after[SESSION_ID_MAX + 1], next[SESSION_ID_MAX + 1];
    size_t limit;
};

static void listing_answer(struct listing *listing, enum err err, json_t *items)
{
    struct http_request *request = admin_op_take(&listing->op);
    if (err == OK) {
        for (size_t i = json_array_size(items); i > 0; i--)
            if (json_is_null(json_array_get(items, i - 1))) /* an id without a config */
                json_array_remove(items, i - 1);
        json_t *next = listing->next[0] ? json_string(listing->next) : json_null();
        admin_json(request, 200, json_pack("{s:o, s:o}", "items", items, "next", next), 0);
    } else {
        admin_unavailable(request, err);
    }
    admin_op_end(&listing->op);
    free(listing);
}

static void page_fetched(void *data, enum err err, json_t *items)
{
    listing_answer(data, err, items);
}

static int compare(const void *a, const void *b)
{
    const struct text *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->at, y->at, len);
    return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

static size_t collect(const struct redis_reply *reply, struct text after, struct text *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < reply_len(reply); i++) {
        struct text id = reply_text(reply_at(reply, i));
        if (session_id_valid(id) && compare(&id, &after) > 0)
            ids[count++] = id;
    }
    if (count > 1)
        qsort(ids, count, sizeof *ids, compare);
    return count;
}

static void ids_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct listing *listing = data;
    struct text *ids = err == OK ? calloc(reply_len(reply) + 1, sizeof *ids) : NULL;
    if (!ids) {
        listing_answer(listing, err == OK ? ERR_NOMEM : err, NULL);
        return;
    }
    size_t count = collect(reply, text_of(listing->after), ids);
    if (count > listing->limit) {
        count = listing->limit;
        if (text_copy(listing->next, sizeof listing->next, ids[count - 1]) != OK)
            listing->next[0] = '\0';
    }
    if (count > 0)
        err = view_fetch(listing->op.publisher, ids, count, page_fetched, listing);
    free(ids);
    if (count == 0 || err != OK)
        listing_answer(listing, err, err == OK ? json_array() : NULL);
}

/* False: answered. */
static bool listing_params(struct http_request *request, struct listing *listing)
{
    char limit[16];
    int64_t number = LIMIT_DEFAULT;
    enum err err = http_request_param(request, "limit", limit, sizeof limit);
    bool good = err == ERR_MISSING || (err == OK && text_int(text_of(limit), 1, LIMIT_MAX, &number) == OK);
    listing->limit = (size_t)number;
    err = http_request_param(request, "after", listing->after, sizeof listing->after);
    good = good && (err == ERR_MISSING || (err == OK && session_id_valid(text_of(listing->after))));
    if (!good)
        admin_problem(request, 400, "bad-request", "Not a page",
                      "limit is a number from 1 to 500, after a session id.");
    return good;
}

void sessions_list(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    const struct actor *actor = admin_enter(publisher, request);
    struct listing *listing = actor ? calloc(1, sizeof *listing) : NULL;
    char key[KEY_SIZE];
    if (actor && !listing)
        admin_unavailable(request, ERR_NOMEM);
    if (!listing)
        return;
    if (!listing_params(request, listing)) {
        free(listing);
        return;
    }
    admin_op_begin(&listing->op, publisher, request, actor, TEXT(""));
    struct text args[] = {TEXT("SMEMBERS"), key_global(key, publisher->line.prefix, "sessions")};
    enum err err = line_command(&publisher->line, 2, args, ids_answered, listing);
    if (err != OK)
        listing_answer(listing, err, NULL);
}

/* ---- one ---- */

static void show_answer(struct admin_op *op, enum err err, json_t *items)
{
    struct http_request *request = admin_op_take(op);
    json_t *item = json_array_get(items, 0);
    if (err != OK)
        admin_unavailable(request, err);
    else if (json_is_null(item))
        admin_unknown_session(request);
    else
        admin_json(request, 200, json_incref(item), json_integer_value(json_object_get(item, "version")));
    json_decref(items);
    admin_op_end(op);
    free(op);
}

static void one_fetched(void *data, enum err err, json_t *items)
{
    show_answer(data, err, items);
}

void session_show(struct http_request *request, void *context)
{
    struct publisher *publisher = context;
    struct text session;
    const struct actor *actor = admin_enter(publisher, request);
    if (!actor || !admin_session_id(request, &session))
        return;
    struct admin_op *op = calloc(1, sizeof *op);
    if (!op) {
        admin_unavailable(request, ERR_NOMEM);
        return;
    }
    admin_op_begin(op, publisher, request, actor, session);
    enum err err = view_fetch(publisher, &session, 1, one_fetched, op);
    if (err != OK)
        show_answer(op, err, NULL);
}

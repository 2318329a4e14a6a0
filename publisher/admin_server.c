#include "publisher/admin_server.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/request.h"
#include "publisher/admin.h"
#include "publisher/admin_answer.h"
#include "publisher/publisher.h"

#include <stdlib.h>

/** SERVERS ──► LAG (all streams at once) ──► (end) */
struct listing {
    struct admin_op op;
    json_t *items;
    size_t unanswered;
    enum err err;
    struct lag {
        struct listing *listing;
        json_t *item; /* borrowed from items */
    } lags[];
};

static struct listing *listing_with(size_t count)
{
    struct listing *listing = calloc(1, sizeof *listing + count * sizeof listing->lags[0]);
    if (listing && !(listing->items = json_array())) {
        free(listing);
        listing = NULL;
    }
    return listing;
}

static void listing_answer(struct listing *listing)
{
    struct http_request *request = admin_op_take(&listing->op);
    if (listing->err == OK)
        admin_json(request, 200, json_pack("{s:O}", "items", listing->items), 0);
    else
        admin_unavailable(request, listing->err);
    json_decref(listing->items);
    admin_op_end(&listing->op);
    free(listing);
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
    json_t *item = json_pack("{s:s%, s:s%, s:s%, s:s, s:b, s:I, s:n, s:n}", "server", name.at, name.len, "id", id.at, id.len, "boot",
                             boot.at, boot.len, "heartbeatAt", instant, "alive", pulse && pulse->still_ms < PULSE_STILL_MS,
                             "sessions", (json_int_t)sessions_of(publisher, name), "lag", "pending");
    json_object_set_new(item, "silentMs", pulse ? json_integer((json_int_t)pulse->still_ms) : json_null());
    return item;
}

/* XINFO GROUPS: an array of groups, each an array of names and values. */
static void lag_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct lag *lag = data;
    struct listing *listing = lag->listing;
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
        listing->err = err;
    if (--listing->unanswered == 0)
        listing_answer(listing);
}

/* ---- all ---- */

static void lag_ask(struct listing *listing, size_t index, struct text name, int64_t beat_ms)
{
    struct publisher *publisher = listing->op.publisher;
    struct lag *lag = &listing->lags[index];
    char key[KEY_SIZE];
    if (!server_id_valid(server_name_id(name)))
        return;
    *lag = (struct lag){listing, server_json(publisher, name, beat_ms)};
    json_array_append_new(listing->items, lag->item);
    struct text args[] = {TEXT("XINFO"), TEXT("GROUPS"), key_server(key, publisher->line.prefix, server_name_id(name), "stream")};
    enum err err = line_command(&publisher->line, 3, args, lag_answered, lag);
    if (err == OK)
        listing->unanswered++;
    else
        listing->err = err;
}

static void servers_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct listing *first = data, *listing = err == OK ? listing_with(reply_len(reply) / 2) : NULL;
    if (!listing) {
        first->err = err == OK ? ERR_NOMEM : err;
        listing_answer(first);
        return;
    }
    listing->op = first->op; /* the same operation, with room for what was found */
    if (listing->op.request)
        http_request_on_gone(listing->op.request, NULL, NULL);
    if (listing->op.request)
        admin_op_move(&listing->op);
    json_decref(first->items);
    free(first);
    for (size_t i = 0; i + 1 < reply_len(reply); i += 2)
        lag_ask(listing, i / 2, reply_text(reply_at(reply, i)), reply_int(reply_at(reply, i + 1), 0));
    if (listing->unanswered == 0)
        listing_answer(listing);
}

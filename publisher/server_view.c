#include "publisher/server_view.h"

#include "common/base/clock.h"
#include "common/line/memory.h"
#include "publisher/publisher.h"

#include <stdlib.h>

/** SERVERS ──► LAG (all streams at once) ──► (end) */
struct servers {
    struct publisher *publisher;
    servers_callback *callback;
    void *data;
    size_t most, more;
    json_t *items;
    struct lag {
        struct servers *servers;
        json_t *item; /* borrowed from items */
    } * lags;
    size_t unanswered;
    enum err err; /* the first that failed */
};

static void servers_end(struct servers *servers)
{
    bool good = servers->err == OK;
    servers->callback(servers->data, servers->err, good ? servers->items : NULL, servers->more);
    if (!good)
        json_decref(servers->items);
    free(servers->lags);
    free(servers);
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
    struct servers *servers = lag->servers;
    size_t refused = memory_refused();
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
        servers->err = err;
    if (memory_refused() != refused)
        servers->err = ERR_NOMEM;
    if (--servers->unanswered == 0)
        servers_end(servers);
}

/* ---- all ---- */

static void lag_ask(struct servers *servers, struct lag *lag, struct text name, int64_t beat_ms)
{
    struct publisher *publisher = servers->publisher;
    char key[KEY_SIZE];
    if (!server_id_valid(server_name_id(name)))
        return;
    size_t refused = memory_refused();
    *lag = (struct lag){servers, server_json(publisher, name, beat_ms)};
    json_array_append_new(servers->items, lag->item);
    if (memory_refused() != refused) { /* the item may be freed, or lack something */
        servers->err = ERR_NOMEM;
        return;
    }
    struct text args[] = {TEXT("XINFO"), TEXT("GROUPS"),
                          key_server(key, publisher->line.prefix, server_name_id(name), "stream")};
    enum err err = line_command(&publisher->line, 3, args, lag_answered, lag);
    if (err == OK)
        servers->unanswered++;
    else
        servers->err = err;
}

static void servers_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct servers *servers = data;
    size_t all = reply_len(reply) / 2, count = all < servers->most ? all : servers->most;
    servers->more = all - count;
    servers->items = json_array();
    servers->lags = calloc(count + 1, sizeof *servers->lags);
    servers->err = err == OK && (!servers->items || !servers->lags) ? ERR_NOMEM : err;
    for (size_t i = 0; servers->err == OK && i < count; i++)
        lag_ask(servers, &servers->lags[i], reply_text(reply_at(reply, 2 * i)),
                reply_int(reply_at(reply, 2 * i + 1), 0));
    if (servers->unanswered == 0)
        servers_end(servers);
}

enum err servers_fetch(struct publisher *publisher, size_t most, servers_callback *callback, void *data)
{
    struct servers *servers = calloc(1, sizeof *servers);
    char key[KEY_SIZE];
    if (!servers)
        return ERR_NOMEM;
    *servers = (struct servers){.publisher = publisher, .callback = callback, .data = data, .most = most};
    struct text args[] = {TEXT("ZRANGE"), key_global(key, publisher->line.prefix, "servers"), TEXT("0"), TEXT("-1"),
                          TEXT("WITHSCORES")};
    enum err err = line_command(&publisher->line, 5, args, servers_answered, servers);
    if (err != OK)
        free(servers);
    return err;
}

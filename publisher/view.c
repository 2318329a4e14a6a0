#include "publisher/view.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/line/config.h"
#include "common/line/memory.h"
#include "publisher/publisher.h"

#include <stdlib.h>

struct views;

/* What is counted, by the key's name. */
static const char *const counted[] = {"waiting", "lobby", "parked", "active"};
#define COUNTED (sizeof counted / sizeof counted[0])

/* Fields of the state, in the order they are asked for and shown. */
static const struct {
    const char *name, *shown;
    enum { SHOW_NUMBER, SHOW_TEXT, SHOW_INSTANT } as;
} fields[] = {
    {"phase", "phase", SHOW_TEXT},           {"admitted", "admitted", SHOW_NUMBER}, {"head", "head", SHOW_NUMBER},
    {"tail", "tail", SHOW_NUMBER},           {"epoch", "epoch", SHOW_NUMBER},       {"rev", "rev", SHOW_NUMBER},
    {"owner", "owner", SHOW_TEXT},           {"seed_hash", "seedHash", SHOW_TEXT},  {"notice", "notice", SHOW_TEXT},
    {"notice_at", "noticeAt", SHOW_INSTANT},
};
#define FIELDS (sizeof fields / sizeof fields[0])

struct view {
    struct views *views;
    char session[SESSION_ID_MAX + 1];
    json_t *config, *state; /* NULL: no such session */
    int64_t version;
    struct count {
        struct view *view;
        int64_t value;
    } counts[COUNTED];
};

struct views {
    struct publisher *publisher;
    view_callback *callback;
    void *data;
    enum err err; /* the first that failed */
    size_t unanswered, count;
    struct view items[];
};

/* Without memory it is left out, which the caller finds in memory_refused. */
static void put(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value ? value : json_null());
}

/* NULL: none of this publisher's. */
static json_t *crowd_json(const struct crowd *crowd)
{
    if (!crowd)
        return NULL;
    return json_pack("{s:I, s:I, s:I}", "count", (json_int_t)crowd->plan.count, "made", (json_int_t)crowd->plan.made,
                     "perSecond", (json_int_t)crowd->plan.per_second);
}

/* OWNER: NULL where the session is another publisher's, who measures it. */
static void put_pace(json_t *live, const struct view *view, const struct owner *owner)
{
    struct pace pace = owner ? pace_value(&owner->pace) : (struct pace){.rate = 0};
    int64_t waiting = json_integer_value(json_object_get(live, "waiting"));
    const char *status = json_string_value(json_object_get(view->config, "status"));
    struct eta eta;
    bool told = waiting > 0 && status && strcmp(status, "open") == 0 && eta_of(&pace, (uint64_t)waiting, &eta);
    put(live, "ratePerSecond", pace.rate > 0 ? json_real(pace.rate) : NULL);
    put(live, "etaSeconds", told ? json_integer(eta.seconds) : NULL);
}

static void put_load(json_t *live, const struct owner *owner)
{
    double tps = 0;
    bool adaptive = owner && owner->load_key[0];
    bool given = adaptive && text_double(text_of(owner->load), &tps) == OK;
    put(live, "loadTps", given ? json_real(tps) : NULL);
    put(live, "cap", adaptive && owner->cap >= 0 ? json_integer(owner->cap) : NULL);
}

static json_t *live_json(const struct view *view)
{
    const struct owner *owner = catalog_find(&view->views->publisher->catalog, text_of(view->session));
    bool owned = owner && owner->owned;
    json_t *live = json_object();
    for (size_t i = 0; i < COUNTED; i++)
        put(live, counted[i], json_integer(view->counts[i].value));
    json_object_update(live, view->state);
    put(live, "held", owned && owner->held[0] ? json_string(owner->held) : NULL);
    put(live, "crowd", crowd_json(crowd_find(&view->views->publisher->crowds, text_of(view->session))));
    put_pace(live, view, owned ? owner : NULL);
    put_load(live, owned ? owner : NULL);
    return live;
}

static json_t *view_json(const struct view *view)
{
    if (!view->config || !view->state)
        return json_null();
    json_t *object = json_object();
    put(object, "sessionId", json_string(view->session));
    json_object_update(object, view->config);
    put(object, "version", json_integer(view->version));
    put(object, "live", live_json(view));
    return object;
}

static void views_free(struct views *views)
{
    for (size_t i = 0; i < views->count; i++) {
        json_decref(views->items[i].config);
        json_decref(views->items[i].state);
    }
    free(views);
}

static void answered(struct views *views, enum err err)
{
    if (err != OK && views->err == OK)
        views->err = err;
    if (--views->unanswered > 0)
        return;
    size_t refused = memory_refused();
    json_t *items = views->err == OK ? json_array() : NULL;
    for (size_t i = 0; items && i < views->count; i++)
        json_array_append_new(items, view_json(&views->items[i]));
    if (memory_refused() != refused) {
        json_decref(items);
        items = NULL;
        views->err = ERR_NOMEM;
    }
    views->callback(views->data, views->err, items);
    views_free(views);
}

static void config_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct view *view = data;
    if (err == OK && config_version(reply) > 0) {
        view->config = config_json(reply);
        view->version = config_version(reply);
        err = view->config ? OK : ERR_NOMEM;
    }
    answered(view->views, err);
}

static json_t *field_json(size_t index, const struct redis_reply *field)
{
    char instant[CLOCK_RFC3339_SIZE];
    struct text text = reply_text(field);
    if (!text.at)
        return NULL;
    if (fields[index].as == SHOW_TEXT)
        return json_stringn(text.at, text.len);
    if (fields[index].as == SHOW_NUMBER)
        return json_integer(reply_int(field, -1));
    clock_rfc3339(instant, reply_int(field, 0));
    return json_string(instant);
}

static void state_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct view *view = data;
    size_t refused = memory_refused();
    view->state = err == OK && reply_text(reply_at(reply, 0)).at ? json_object() : NULL;
    for (size_t i = 0; view->state && i < FIELDS; i++)
        put(view->state, fields[i].shown, field_json(i, reply_at(reply, i)));
    answered(view->views, memory_refused() == refused ? err : ERR_NOMEM);
}

static void count_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct count *count = data;
    count->value = reply_int(reply, 0);
    answered(count->view->views, err);
}

static void ask(struct views *views, size_t count, const struct text *args, redis_callback *callback, void *data)
{
    enum err err = views->err == OK ? line_command(&views->publisher->line, count, args, callback, data) : views->err;
    if (err == OK)
        views->unanswered++;
    else
        views->err = err;
}

static void view_ask(struct view *view)
{
    struct views *views = view->views;
    const char *prefix = views->publisher->line.prefix;
    struct text session = text_of(view->session), args[2 + FIELDS];
    char key[KEY_SIZE];
    args[0] = TEXT("HGETALL");
    args[1] = key_session(key, prefix, session, TEXT("config"));
    ask(views, 2, args, config_answered, view);
    args[0] = TEXT("HMGET");
    args[1] = key_session(key, prefix, session, TEXT("state"));
    for (size_t i = 0; i < FIELDS; i++)
        args[2 + i] = text_of(fields[i].name);
    ask(views, 2 + FIELDS, args, state_answered, view);
    args[0] = TEXT("ZCARD");
    for (size_t i = 0; i < COUNTED; i++) {
        args[1] = key_session(key, prefix, session, text_of(counted[i]));
        view->counts[i].view = view;
        ask(views, 2, args, count_answered, &view->counts[i]);
    }
}

enum err view_fetch(struct publisher *publisher, const struct text *sessions, size_t count, view_callback *callback,
                    void *data)
{
    struct views *views = calloc(1, sizeof *views + count * sizeof views->items[0]);
    CHECK(count > 0);
    if (!views)
        return ERR_NOMEM;
    *views = (struct views){.publisher = publisher, .callback = callback, .data = data, .count = count};
    for (size_t i = 0; i < count; i++) {
        struct view *view = &views->items[i];
        view->views = views;
        CHECK(text_copy(view->session, sizeof view->session, sessions[i]) == OK);
        view_ask(view);
    }
    if (views->unanswered > 0)
        return OK;
    enum err err = views->err;
    views_free(views);
    return err;
}

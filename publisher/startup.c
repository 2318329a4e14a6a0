#include "publisher/startup.h"

#include "common/base/log.h"
#include "publisher/info.h"
#include "publisher/publisher.h"

#define MEMORY_EVERY_S 10

void startup_init(struct startup *startup, struct publisher *publisher)
{
    *startup = (struct startup){.publisher = publisher};
}

static void complain(struct startup *startup, const char *event, const char *detail)
{
    log_event(LOG_ERROR, event, LOG_S("detail", detail));
    startup->failed = true;
}

static void startup_done(struct startup *startup)
{
    struct publisher *publisher = startup->publisher;
    if (startup->failed && !startup->passed) {
        publisher_stop(publisher, 1);
    } else if (!startup->run_id[0]) {
        redis_reconnect(publisher->line.redis,
                        "its run id is unknown"); /* nothing happens where the connection is gone */
    } else {
        startup->passed = publisher->ready = true;
        catalog_wake(&publisher->catalog);
    }
}

/* One of the answers. A failed one leaves its question open. */
static bool answered(struct startup *startup, enum err err, const char *question, const struct redis_reply *reply)
{
    startup->asked--;
    if (err == ERR_REPLY)
        log_event(LOG_INFO, "redis-unchecked", LOG_S("question", question), LOG_T("detail", reply_text(reply)));
    return err == OK;
}

static void server_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct startup *startup = data;
    struct text info = reply_text(reply);
    if (answered(startup, err, "INFO server", reply)) {
        if (text_copy(startup->run_id, sizeof startup->run_id, info_field(info, "run_id")) != OK)
            startup->run_id[0] = '\0';
        if (!info_version_fits(info))
            complain(startup, "redis-too-old", "Redis 7.0 or newer, or Valkey, is needed");
    }
    if (startup->asked == 0)
        startup_done(startup);
}

static void memory_set(struct startup *startup, struct text info)
{
    struct metrics *metrics = startup->publisher->metrics;
    metrics_set(metrics, METER_REDIS_MEMORY, (double)info_number(info, "used_memory", 0), NULL, NULL, NULL);
    metrics_set(metrics, METER_REDIS_MEMORY_MAX, (double)info_number(info, "maxmemory", 0), NULL, NULL, NULL);
}

static void memory_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct startup *startup = data;
    if (answered(startup, err, "INFO memory", reply)) {
        enum info_memory memory = info_memory_policy(reply_text(reply));
        memory_set(startup, reply_text(reply));
        if (memory == MEMORY_EVICTS)
            complain(startup, "redis-evicts",
                     "Redis would throw keys of waiting people away: set maxmemory-policy noeviction");
        else if (memory == MEMORY_MAY_EVICT)
            log_event(LOG_WARN, "redis-may-evict",
                      LOG_S("detail", "set maxmemory-policy noeviction before a maxmemory is set"));
    }
    if (startup->asked == 0)
        startup_done(startup);
}

static void persistence_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct startup *startup = data;
    if (answered(startup, err, "INFO persistence", reply))
        startup->no_aof = info_number(reply_text(reply), "aof_enabled", 1) == 0;
    if (startup->asked == 0)
        startup_done(startup);
}

/* CONFIG may be forbidden: then nobody can tell. */
static void save_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct startup *startup = data;
    struct text save = reply_text(reply_at(reply, 1));
    if (answered(startup, err, "CONFIG GET save", reply) && startup->no_aof && save.at && save.len == 0)
        log_event(LOG_WARN, "redis-not-persistent",
                  LOG_S("detail",
                        "a restart of Redis loses every line: set appendonly yes (or save), unless this is a test"));
    if (startup->asked == 0)
        startup_done(startup);
}

void startup_check(struct startup *startup)
{
    static const struct {
        struct text args[3];
        redis_callback *callback;
    } questions[] = {
        {{{"INFO", 4}, {"server", 6}}, server_answered},
        {{{"INFO", 4}, {"memory", 6}}, memory_answered},
        {{{"INFO", 4}, {"persistence", 11}}, persistence_answered},
        {{{"CONFIG", 6}, {"GET", 3}, {"save", 4}}, save_answered},
    };
    struct line *line = &startup->publisher->line;
    startup->failed = startup->no_aof = false;
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        if (line_command(line, questions[i].args[2].at ? 3 : 2, questions[i].args, questions[i].callback, startup) ==
            OK)
            startup->asked++;
}

void startup_forget(struct startup *startup)
{
    startup->publisher->ready = false;
    startup->run_id[0] = '\0';
}

static void figures_answered(void *data, enum err err, const struct redis_reply *reply)
{
    if (err == OK)
        memory_set(data, reply_text(reply));
}

void startup_second(struct startup *startup)
{
    struct text args[] = {TEXT("INFO"), TEXT("memory")};
    if (!startup->publisher->ready || ++startup->memory_age_s < MEMORY_EVERY_S)
        return;
    startup->memory_age_s = 0;
    if (line_command(&startup->publisher->line, 2, args, figures_answered, startup) != OK)
        return; /* ten seconds later again */
}

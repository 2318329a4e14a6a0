#include "publisher/doorbell.h"

#include "common/base/log.h"
#include "publisher/publisher.h"

static void on_event(void *data, enum redis_event event, const char *detail)
{
    struct doorbell *doorbell = data;
    log_event(event == REDIS_UP ? LOG_INFO : LOG_WARN, event == REDIS_UP ? "redis-up" : "redis-down",
              LOG_S("connection", "doorbell"), LOG_S("detail", detail));
    if (event == REDIS_UP)
        catalog_wake(&doorbell->publisher->catalog); /* somebody may have rung meanwhile */
}

/* Anybody who may publish may ring: an id that is no session costs one look at the set, not an owner of its own. */
static void on_message(void *data, struct text channel, struct text message)
{
    struct catalog *catalog = &((struct doorbell *)data)->publisher->catalog;
    struct owner *owner = session_id_valid(message) ? catalog_find(catalog, message) : NULL;
    (void)channel;
    if (owner)
        owner_ring(owner);
    else
        catalog_refresh(catalog);
}

enum err doorbell_open(struct doorbell *doorbell, struct publisher *publisher, const struct redis_url *url)
{
    struct redis_settings settings = redis_settings_default();
    char channel[KEY_SIZE];
    doorbell->publisher = publisher;
    settings.url = url;
    settings.name = "anteroom-publisher-doorbell";
    settings.hooks = (struct redis_hooks){.on_event = on_event, .on_message = on_message, .data = doorbell};
    enum err err = redis_create(&doorbell->redis, publisher->loop, &settings);
    return err == OK ? redis_subscribe(doorbell->redis, key_global(channel, publisher->line.prefix, "doorbell")) : err;
}

void doorbell_close(struct doorbell *doorbell)
{
    if (doorbell->redis)
        redis_close(doorbell->redis, NULL, NULL);
    doorbell->redis = NULL;
}

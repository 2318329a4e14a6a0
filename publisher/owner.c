#include "publisher/owner.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "publisher/publisher.h"
#include "publisher/tick.h"

#include <stdlib.h>

#define FENCE_JITTER_MS 50 /* so that two who wait for one lease do not ask in step */

static int64_t period_ms(const struct owner *owner)
{
    const struct publisher_options *options = &owner->publisher->options;
    return options->tick_ms < options->lease_ms / 3 ? options->tick_ms : options->lease_ms / 3;
}

static void owner_tick(struct owner *owner)
{
    struct publisher *publisher = owner->publisher;
    CHECK(!owner->tick);
    if (!publisher->ready || publisher->stopping)
        return; /* when Redis is back everybody is rung */
    uv_timer_stop(&owner->timer);
    owner->again = false;
    owner->begun_ns = clock_mono_ns();
    owner->tick = tick_start(publisher, owner);
    if (!owner->tick)
        owner_ticked(owner, NULL, false, false);
}

static void on_timer(uv_timer_t *timer)
{
    struct owner *owner = timer->data;
    uint64_t now = clock_mono_ms();
    metrics_observe(owner->publisher->metrics, METER_TICK_LATE,
                    now > owner->due_ms ? (double)(now - owner->due_ms) / 1000 : 0, NULL, NULL, NULL);
    if (!owner->tick)
        owner_tick(owner);
}

static void plan(struct owner *owner, int64_t delay_ms)
{
    uint64_t delay = delay_ms > 0 ? (uint64_t)delay_ms : 0;
    owner->due_ms = clock_mono_ms() + delay;
    uv_timer_start(&owner->timer, on_timer, delay, 0);
}

enum err owner_create(struct publisher *publisher, struct text session, struct owner **out)
{
    struct owner *owner = calloc(1, sizeof *owner);
    if (!owner)
        return ERR_NOMEM;
    owner->publisher = publisher;
    CHECK(text_copy(owner->session, sizeof owner->session, session) == OK);
    pace_init(&owner->pace);
    CHECK(uv_timer_init(publisher->loop, &owner->timer) == 0);
    owner->timer.data = owner;
    *out = owner;
    return OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct owner *owner = handle->data;
    free(owner->settled);
    free(owner->servers);
    free(owner);
}

void owner_drop(struct owner *owner)
{
    if (owner->tick)
        tick_detach(owner->tick);
    owner->tick = NULL;
    recovery_finish(&owner->recovery);
    metrics_drop(owner->publisher->metrics, owner->session);
    uv_close((uv_handle_t *)&owner->timer, on_closed);
}

void owner_ring(struct owner *owner)
{
    if (owner->tick)
        owner->again = true;
    else if (!owner->fenced || !uv_is_active((uv_handle_t *)&owner->timer)) /* fenced: the bell is another's */
        owner_tick(owner);
}

/* ---- what ticks find ---- */

static void owner_lose(struct owner *owner, const struct admission *admission)
{
    if (!owner->fenced)
        log_event(LOG_INFO, "standby", LOG_S("session", owner->session), LOG_S("owner", admission->owner));
    owner->fenced = true;
    owner->owned = false;
    owner->settled_count = owner->server_count = 0; /* all of it is the owner's to do now */
    owner->held[0] = '\0';
    owner->announced = (struct line_rev){0, 0};
    pace_init(&owner->pace);
    owner->promise = (struct promise){0};
    publisher_meters_fenced(owner->publisher->metrics, owner->session);
}

static void owner_win(struct owner *owner, const struct admission *admission)
{
    struct publisher *publisher = owner->publisher;
    if (!owner->owned)
        log_event(LOG_INFO, "owner", LOG_S("session", owner->session), LOG_I("epoch", admission->rev.epoch),
                  LOG_I("waiting", admission->waiting));
    owner->owned = true;
    owner->fenced = owner->lost_told = false;
    owner->known = admission->rev;
    owner->settled_count = 0; /* the script has taken them */
    memcpy(owner->held, admission->held, sizeof owner->held);
    recovery_keep(owner, admission);
    pace_observe(&owner->pace, clock_mono_ms(), admission);
    struct pace pace = pace_value(&owner->pace);
    promise_observe(&owner->promise, &pace, owner->pace.busy_ms, admission);
    publisher_meters_session(publisher->metrics, owner->session, admission, &pace);
    publisher_meters_promise(publisher->metrics, owner->session, &owner->promise);
    metrics_set(publisher->metrics, METER_CLOCK_DIFFERENCE, (double)(clock_wall_ms() - admission->now_ms) / 1000, NULL,
                NULL, NULL);
}

/* Said once, until a tick goes well again. */
static void owner_lost(struct owner *owner, const char *detail)
{
    if (!owner->lost_told)
        log_event(LOG_ERROR, "data-lost", LOG_S("session", owner->session), LOG_I("known_epoch", owner->known.epoch),
                  LOG_I("known_rev", owner->known.rev), LOG_S("detail", detail));
    owner->lost_told = true;
    owner->announced = (struct line_rev){0, 0};
    owner->settled_count = 0;
}

void owner_admitted(struct owner *owner, const struct admission *admission)
{
    if (admission->outcome == LINE_OK || admission->outcome == LINE_FENCED)
        memcpy(owner->load_key, admission->load_key, sizeof owner->load_key);
    switch ((int)admission->outcome) {
    case LINE_OK:
        owner_win(owner, admission);
        break;
    case LINE_FENCED:
        owner_lose(owner, admission);
        break;
    case LINE_LOST:
        owner_lost(owner, "Redis came back older than what was announced");
        break;
    }
}

void owner_settled(struct owner *owner, const char *place)
{
    if (!owner->settled)
        owner->settled = calloc(ADMIT_POPS_MAX, sizeof *owner->settled);
    if (!owner->settled || owner->settled_count == ADMIT_POPS_MAX)
        return; /* it comes back from the outbox */
    memcpy(owner->settled[owner->settled_count++], place, sizeof *owner->settled);
}

static int64_t next_delay(const struct owner *owner, const struct admission *admission, bool complete)
{
    int64_t delay = period_ms(owner);
    if (!complete) /* at once would be a spin */
        return delay;
    if (admission->more || owner->again)
        return 0;
    if (admission->start_ms >= 0 && admission->start_ms + 1 < delay)
        delay = admission->start_ms + 1;
    bool due = admission->waiting > 0 && !admission->held[0] && strcmp(admission->status, "open") == 0 &&
               strcmp(admission->phase, "open") == 0;
    return due && admission->refill_ms + 1 < delay ? admission->refill_ms + 1 : delay;
}

void owner_ticked(struct owner *owner, struct admission *admission, bool told, bool complete)
{
    enum line_outcome outcome = admission ? admission->outcome : LINE_FAILED;
    owner->tick = NULL;
    if (outcome == LINE_OK) {
        metrics_observe(owner->publisher->metrics, METER_TICK_DURATION,
                        (double)(clock_mono_ns() - owner->begun_ns) / 1e9, NULL, NULL, NULL);
        free(owner->servers);
        owner->servers = admission->servers;
        owner->server_count = admission->server_count;
        admission->servers = NULL;
        if (told)
            owner->announced = admission->rev;
        plan(owner, next_delay(owner, admission, complete));
    } else if (outcome == LINE_LOST || (outcome == LINE_NONE && owner->known.epoch)) {
        if (outcome == LINE_NONE)
            owner_lost(owner, "the session's keys are missing and it was not deleted");
        if (!recovery_open(owner))
            plan(owner, period_ms(owner));
    } else if (outcome == LINE_NONE || outcome == LINE_DELETED) {
        catalog_drop(&owner->publisher->catalog, owner);
    } else if (outcome == LINE_FENCED) {
        int64_t wait = admission->fenced_ms + (int64_t)entropy_below(FENCE_JITTER_MS) + 1;
        plan(owner, wait < period_ms(owner) ? wait : period_ms(owner));
    } else {
        plan(owner, period_ms(owner));
    }
}

void owner_reopened(struct owner *owner, enum line_outcome outcome)
{
    if (outcome == LINE_OK)
        owner->known = (struct line_rev){0, 0}; /* what was known is in the new epoch */
    if (!owner->tick)
        plan(owner, outcome == LINE_OK ? 0 : period_ms(owner));
}

/* ---- servers ---- */

static size_t server_find(const struct owner *owner, struct text server)
{
    size_t i = 0;
    while (i < owner->server_count && !text_is(server, owner->servers[i]))
        i++;
    return i;
}

bool owner_serves(const struct owner *owner, struct text server)
{
    return owner->owned && server_find(owner, server) < owner->server_count;
}

void owner_forget_server(struct owner *owner, struct text server)
{
    size_t i = server_find(owner, server);
    if (i < owner->server_count)
        memmove(owner->servers[i], owner->servers[i + 1], (--owner->server_count - i) * sizeof *owner->servers);
}

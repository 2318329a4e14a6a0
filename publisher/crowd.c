#include "publisher/crowd.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "publisher/publisher.h"

#include <stdlib.h>

/* ---- the plan ---- */

uint32_t crowd_plan_due(struct crowd_plan *plan, uint64_t now_ms)
{
    uint32_t left = plan->count - plan->made - plan->under_way, room = CROWD_WINDOW - plan->under_way;
    plan->credit += (double)(now_ms - plan->seen_ms) * plan->per_second / 1000;
    if (plan->credit > plan->per_second)
        plan->credit = plan->per_second;
    plan->seen_ms = now_ms;
    uint32_t due = (uint32_t)plan->credit;
    due = due < left ? due : left;
    due = due < room ? due : room;
    plan->credit -= due;
    plan->under_way += due;
    return due;
}

void crowd_plan_done(struct crowd_plan *plan, bool made)
{
    CHECK(plan->under_way > 0);
    plan->under_way--;
    plan->made += made;
}

/* ---- one crowd ---- */

static void crowd_free(struct crowd *crowd)
{
    struct crowds *crowds = crowd->crowds;
    list_remove(&crowd->link);
    CHECK(crowds->count > 0 && crowds->publisher->operations > 0);
    crowds->publisher->operations--;
    if (--crowds->count == 0 && !uv_is_closing((uv_handle_t *)&crowds->timer))
        uv_timer_stop(&crowds->timer);
    free(crowd);
}

static void crowd_end_if_done(struct crowd *crowd)
{
    if (crowd->plan.made == crowd->plan.count && !crowd->ending)
        crowd->ending = "complete";
    if (!crowd->ending || crowd->plan.under_way > 0)
        return;
    log_event(LOG_INFO, "crowd-ended", LOG_S("session", crowd->session), LOG_S("reason", crowd->ending),
              LOG_I("count", crowd->plan.count), LOG_I("made", crowd->plan.made), LOG_I("waiting", crowd->waiting),
              LOG_I("refused", crowd->refused), LOG_I("unsure", crowd->unsure));
    crowd_free(crowd);
}

static void end_with(struct crowd *crowd, const char *reason)
{
    if (!crowd->ending)
        crowd->ending = reason;
}

/* An outcome after which no other join can do better ends the crowd; a full line turns this one away as it would turn a
 * visitor away. */
static void outcome_take(struct crowd *crowd, const struct line_place *place)
{
    switch ((int)place->outcome) {
    case LINE_WAITING:
    case LINE_LOBBY:
        if (crowd->epoch && crowd->epoch != place->epoch)
            end_with(crowd, "another line"); /* deleted and made anew meanwhile */
        crowd->epoch = place->epoch;
        crowd->waiting++;
        return;
    case LINE_FULL:
        crowd->refused++;
        return;
    default:
        crowd->refused++;
        end_with(crowd, line_outcome_text(place->outcome));
    }
}

static void joined(void *data, enum err err, const struct redis_reply *reply)
{
    struct crowd *crowd = data;
    struct line_place place;
    line_place_decode(err, reply, &place);
    bool unsent = err == ERR_UNSENT || err == ERR_BUSY || (err == OK && place.outcome == LINE_UNAVAILABLE);
    crowd_plan_done(&crowd->plan, !unsent);
    if (err == OK && !unsent)
        outcome_take(crowd, &place);
    else if (err == ERR_REPLY)
        end_with(crowd, "error");
    else if (!unsent)
        crowd->unsure++;
    crowd_end_if_done(crowd);
}

static enum err join_send(struct crowd *crowd)
{
    struct publisher *publisher = crowd->crowds->publisher;
    const struct owner *owner = catalog_find(&publisher->catalog, text_of(crowd->session));
    uint8_t random[16];
    char place[PLACE_ID_LEN];
    entropy_fill(random, sizeof random);
    base64url_encode(place, random, sizeof random);
    struct line_join join = {.session = text_of(crowd->session),
                             .place = {place, PLACE_ID_LEN},
                             .user = TEXT(""),
                             .server = TEXT(""),
                             .conn = TEXT("crowd"),
                             .mode = TEXT("virtual")};
    if (!publisher->ready)
        return ERR_UNSENT;
    if (owner) /* older data must not give a number out again */
        join.known = (struct line_known){owner->recovery.most.epoch, owner->recovery.most.tail};
    return line_join(&publisher->line, &join, joined, crowd);
}

static void crowd_step(struct crowd *crowd, uint64_t now_ms)
{
    if (!crowd->started || crowd->ending)
        return;
    bool away = false;
    for (uint32_t due = crowd_plan_due(&crowd->plan, now_ms); due > 0; due--) {
        away = away || join_send(crowd) != OK;
        if (away) /* later again */
            crowd_plan_done(&crowd->plan, false);
    }
}

/* ---- all of them ---- */

static void on_timer(uv_timer_t *timer)
{
    struct crowds *crowds = timer->data;
    uint64_t now_ms = clock_mono_ms();
    for (struct list *link = crowds->all.next; link != &crowds->all; link = link->next)
        crowd_step(CONTAINER_OF(link, struct crowd, link), now_ms);
}

void crowds_init(struct crowds *crowds, struct publisher *publisher)
{
    *crowds = (struct crowds){.publisher = publisher};
    list_init(&crowds->all);
    CHECK(uv_timer_init(publisher->loop, &crowds->timer) == 0);
    crowds->timer.data = crowds;
}

void crowds_stop(struct crowds *crowds)
{
    for (struct list *link = crowds->all.next, *next; link != &crowds->all; link = next) {
        struct crowd *crowd = CONTAINER_OF(link, struct crowd, link);
        next = link->next;
        end_with(crowd, "stopping");
        if (crowd->started)
            crowd_end_if_done(crowd);
    }
}

void crowds_close(struct crowds *crowds)
{
    uv_close((uv_handle_t *)&crowds->timer, NULL);
}

struct crowd *crowd_find(const struct crowds *crowds, struct text session)
{
    for (struct list *link = crowds->all.next; link != &crowds->all; link = link->next)
        if (text_is(session, CONTAINER_OF(link, struct crowd, link)->session))
            return CONTAINER_OF(link, struct crowd, link);
    return NULL;
}

enum err crowd_create(struct crowds *crowds, struct text session, uint32_t count, uint32_t per_second,
                      struct crowd **out)
{
    if (crowds->count >= CROWDS_MAX)
        return ERR_BUSY;
    struct crowd *crowd = calloc(1, sizeof *crowd);
    if (!crowd)
        return ERR_NOMEM;
    crowd->crowds = crowds;
    crowd->plan = (struct crowd_plan){.count = count, .per_second = per_second};
    CHECK(text_copy(crowd->session, sizeof crowd->session, session) == OK);
    list_append(&crowds->all, &crowd->link);
    crowds->publisher->operations++; /* a stop waits for the joins under way */
    if (crowds->count++ == 0)
        uv_timer_start(&crowds->timer, on_timer, CROWD_STEP_MS, CROWD_STEP_MS);
    *out = crowd;
    return OK;
}

void crowd_start(struct crowd *crowd)
{
    crowd->started = true;
    crowd->plan.seen_ms = clock_mono_ms();
    log_event(LOG_INFO, "crowd-started", LOG_S("session", crowd->session), LOG_I("count", crowd->plan.count),
              LOG_I("per_second", crowd->plan.per_second));
    crowd_end_if_done(crowd); /* the publisher may be stopping */
}

void crowd_cancel(struct crowd *crowd)
{
    crowd_free(crowd);
}

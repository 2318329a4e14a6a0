#include "gateway/drain.h"

#include "common/base/entropy.h"
#include "common/base/log.h"
#include "gateway/gateway.h"
#include "gateway/place.h"

#define TICK_MS 50
#define FLUSH_MS 5000 /* parks that Redis does not take in this time are left to the publisher */

static void drain_tick(uv_timer_t *timer);

void drain_init(struct drain *drain, struct gateway *gateway)
{
    *drain = (struct drain){.gateway = gateway};
    uv_timer_init(gateway->loop, &drain->timer);
    drain->timer.data = drain;
}

void drain_close(struct drain *drain)
{
    uv_close((uv_handle_t *)&drain->timer, NULL);
}

bool drain_active(const struct drain *drain)
{
    return drain->phase != DRAIN_NOT;
}

bool drain_done(const struct drain *drain)
{
    return drain->phase == DRAIN_DONE;
}

static void enter(struct drain *drain, enum drain_phase phase, const char *word)
{
    drain->phase = phase;
    drain->phase_ms = uv_now(drain->gateway->loop);
    log_event(LOG_INFO, "drain", LOG_S("phase", word), LOG_I("connections", drain->gateway->places.len));
}

static void begin_streams(struct drain *drain, uint64_t over_ms)
{
    drain->streams_ms = over_ms;
    drain->streams = drain->gateway->places.len;
    enter(drain, DRAIN_STREAMS, "streams");
}

static void begin_notice(struct drain *drain)
{
    enter(drain, DRAIN_NOTICE, "notice");
    metric_set(drain->gateway->meters.draining, 1);
    http_server_drain(drain->gateway->public_server);
    uv_timer_start(&drain->timer, drain_tick, 0, TICK_MS);
}

void drain_signal(struct drain *drain)
{
    switch (drain->phase) {
    case DRAIN_NOT:
        begin_notice(drain);
        break;
    case DRAIN_NOTICE:
    case DRAIN_STREAMS:
        begin_streams(drain, 1000);
        break;
    case DRAIN_FLUSH:
    case DRAIN_DONE:
        break;
    }
}

void drain_now(struct drain *drain, int code)
{
    drain->exit_code = code;
    if (drain->phase == DRAIN_STREAMS && drain->streams_ms <= 1000)
        return;
    if (drain->phase == DRAIN_NOT)
        begin_notice(drain);
    if (drain->phase == DRAIN_NOTICE || drain->phase == DRAIN_STREAMS)
        begin_streams(drain, 1000);
}

/* Ends as many streams as are due by now. */
static void end_streams(struct drain *drain, uint64_t passed_ms)
{
    struct gateway *gateway = drain->gateway;
    size_t keep =
        passed_ms >= drain->streams_ms
            ? 0
            : drain->streams - (size_t)(drain->streams * passed_ms / (drain->streams_ms ? drain->streams_ms : 1));
    MAP_EACH(&gateway->places, node, next, cursor)
    {
        if (gateway->places.len <= keep)
            break;
        place_end_retry(CONTAINER_OF(node, struct place, node), 1000 + entropy_below(4000));
    }
    if (gateway->places.len == 0 && gateway->joins_under_way == 0) {
        http_server_stop_listening(gateway->public_server);
        enter(drain, DRAIN_FLUSH, "flush");
    }
}

static void drain_left(void *data, enum err err, const struct redis_reply *reply)
{
    struct drain *drain = data;
    (void)err;
    (void)reply;
    uv_stop(drain->gateway->loop);
}

static void drain_tick(uv_timer_t *timer)
{
    struct drain *drain = timer->data;
    struct gateway *gateway = drain->gateway;
    uint64_t passed = uv_now(gateway->loop) - drain->phase_ms;
    switch (drain->phase) {
    case DRAIN_NOTICE:
        if (passed >= (uint64_t)gateway->options.drain_notice_s * 1000)
            begin_streams(drain, (uint64_t)gateway->options.drain_s * 1000);
        break;
    case DRAIN_STREAMS:
        end_streams(drain, passed);
        break;
    case DRAIN_FLUSH:
        parks_flush(&gateway->parks);
        if (parks_unsent(&gateway->parks) > 0 && passed < FLUSH_MS)
            break;
        if (parks_unsent(&gateway->parks) > 0)
            log_event(LOG_WARN, "parks-unwritten", LOG_I("count", parks_unsent(&gateway->parks)));
        enter(drain, DRAIN_DONE, "done");
        uv_timer_stop(&drain->timer);
        membership_leave(&gateway->membership, drain_left, drain);
        break;
    case DRAIN_NOT:
    case DRAIN_DONE:
        break;
    }
}

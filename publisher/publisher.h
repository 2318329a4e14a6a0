/** One publisher process: everything its parts share, and its life. Parts take a struct publisher and own what is named
 *  after them. */
#ifndef ANTEROOM_PUBLISHER_PUBLISHER_H
#define ANTEROOM_PUBLISHER_PUBLISHER_H

#include "common/base/metrics.h"
#include "common/http/server.h"
#include "common/line/line.h"
#include "publisher/catalog.h"
#include "publisher/crowd.h"
#include "publisher/doorbell.h"
#include "publisher/events.h"
#include "publisher/guard.h"
#include "publisher/load.h"
#include "publisher/secrets.h"
#include "publisher/meters.h"
#include "publisher/options.h"
#include "publisher/owner.h"
#include "publisher/reaper.h"
#include "publisher/startup.h"

#include <uv.h>

struct publisher {
    uv_loop_t *loop;
    struct publisher_options options;
    char id[SERVER_ID_MAX + 1];
    struct line line;
    struct secrets secrets;
    struct http_server *admin_server, *metrics_server;
    struct startup startup;
    struct catalog catalog;
    struct doorbell doorbell;
    struct reaper reaper;
    struct guard guard;
    struct crowds crowds;
    struct events events;
    struct loads loads;
    struct metrics *metrics;
    uv_timer_t second;
    uint64_t second_due_ns;
    uv_timer_t stopper;
    uv_signal_t signals[3];
    uint64_t stop_by_ms;
    size_t operations; /* of the admin API, under way */
    bool ready;        /* Redis is up and was found fit: ticks may run */
    bool stopping;
    int exit_code;
};

/** Makes all parts and listens. PUBLISHER holds options, keys and the line's settings. False: said why; close it all
 * the same. */
MUST_CHECK bool publisher_start(struct publisher *publisher, const struct redis_url *url);
/** No new work; ticks and operations under way may end (5 s at most), then everything is closed and the loop runs
 * empty. */
void publisher_stop(struct publisher *publisher, int exit_code);
/** Closes all handles: the loop must run once more until it is empty. Once. */
void publisher_close(struct publisher *publisher);
/** Frees the rest, after the loop ran empty. */
void publisher_finish(struct publisher *publisher);

#endif

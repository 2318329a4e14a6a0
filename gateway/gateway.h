/** One gateway process: everything its parts share. Parts take a struct gateway and own what is named after them. */
#ifndef ANTEROOM_GATEWAY_GATEWAY_H
#define ANTEROOM_GATEWAY_GATEWAY_H

#include "common/base/map.h"
#include "common/base/metrics.h"
#include "common/http/server.h"
#include "common/line/line.h"
#include "gateway/assets.h"
#include "gateway/drain.h"
#include "gateway/inbox.h"
#include "gateway/keys.h"
#include "gateway/limiter.h"
#include "gateway/membership.h"
#include "gateway/meters.h"
#include "gateway/network.h"
#include "gateway/options.h"
#include "gateway/parks.h"
#include "gateway/push.h"
#include "gateway/sweep.h"
#include "gateway/unclaimed.h"
#include "gateway/verify.h"

#include <uv.h>

struct gateway {
    uv_loop_t *loop;
    struct gateway_options options;
    struct line line;    /* pipelined commands */
    struct redis *block; /* XREADGROUP, one at a time */
    struct http_server *public_server, *metrics_server;
    struct keys keys;
    struct assets assets;
    struct user_rules user_rules;
    struct networks trusted_proxies, limit_exempt;
    bool secure_cookies; /* PUBLIC_URL is https */

    struct map sessions; /* struct session by id */
    struct map places;   /* struct place by place id */
    /* Monotonic. Redis was away: what came back may be older, and those who know more need a moment to say so, or a
     * newcomer would get a number that somebody has. */
    uint64_t newcomers_from_ms;
    uint64_t conn_count; /* connections minted so far: conn = "<boot>:<n>" */
    size_t joins_under_way;

    struct membership membership;
    struct inbox inbox;
    struct push push;
    struct sweep sweep;
    struct parks parks;
    struct unclaimed unclaimed;
    struct limiter limiter, verify_limiter;
    struct verify verify;
    struct drain drain;
    struct metrics *metrics;
    struct meters meters;
    uv_timer_t second; /* heartbeats, deadlines: the one timer of all open streams */
};

#endif

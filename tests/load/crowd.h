/** anteroom-crowd: many visitors as one process, each an event stream of its own; see docs/load-testing.md. */
#ifndef ANTEROOM_LOAD_CROWD_H
#define ANTEROOM_LOAD_CROWD_H

#include "common/base/option.h"
#include "common/line/key.h"
#include "tests/load/summary.h"

#include <netinet/in.h>
#include <uv.h>

#define TARGETS_MAX 16

struct crowd_options {
    char url[1024], session[65], user_key_file[512], header[512], json[512];
    bool is_virtual;
    int64_t visitors, rate, leave_percent, reconnect_percent, source_addresses, timeout_s;
};

struct target {
    struct sockaddr_in address;
    char host[128]; /* for the Host header */
};

struct visitor;

struct crowd {
    uv_loop_t *loop;
    struct crowd_options options;
    struct target targets[TARGETS_MAX];
    size_t target_count;
    struct token_key *user_key;
    struct visitor *visitors;
    size_t started, ended;
    uint64_t start_ms;
    struct summary summary;
    uv_timer_t pace;
    bool over;
};

extern const struct option_table crowd_option_table;

#endif

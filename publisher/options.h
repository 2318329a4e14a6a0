/** The publisher's options; see docs/configuration.md, which is made from the table in options.c. */
#ifndef ANTEROOM_PUBLISHER_OPTIONS_H
#define ANTEROOM_PUBLISHER_OPTIONS_H

#include "common/base/option.h"
#include "common/base/setting.h"

struct publisher_options {
    struct setting common; /* first */
    char admin_listen[128], admin_token_file[512], publisher_id[65];
    int64_t tick_ms, lease_ms;
};

extern const struct option_table publisher_option_table;

#endif

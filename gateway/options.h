/** The gateway's options; see docs/configuration.md, which is made from the table in options.c. */
#ifndef ANTEROOM_GATEWAY_OPTIONS_H
#define ANTEROOM_GATEWAY_OPTIONS_H

#include "common/base/option.h"
#include "common/base/setting.h"

struct gateway_options {
    struct setting common; /* first */
    char listen[128], public_url[256], server_id[65], imds_url[256];
    char ticket_key_file[512];
    char user_auth[8], user_alg[8], user_key_file[512], user_issuer[512], user_audience[512], user_claim[64],
        user_cookie[65];
    bool user_query, reuseport;
    char trusted_proxies[2048], allow_origins[2048], join_limit[32], join_limit_exempt[2048], verify_limit[32],
        web_dir[512];
    int64_t backlog, connections_max, user_leeway_s, heartbeat_s, keepalive_s, drain_notice_s, drain_s;
};

extern const struct option_table gateway_option_table;

#endif

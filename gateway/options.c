#include "gateway/options.h"

#include "gateway/limiter.h"
#include "gateway/network.h"

#include <sys/resource.h>

#define FIELD(field) offsetof(struct gateway_options, field)

static const char *check_networks(const char *value)
{
    struct networks networks;
    return networks_parse(text_of(value), &networks) == OK
               ? NULL
               : "must be a list of at most 64 networks such as 10.0.0.0/8, fd00::/8";
}

static const char *check_limit(const char *value)
{
    uint32_t count, period_ms;
    return limiter_parse(text_of(value), &count, &period_ms) == OK ? NULL
                                                                   : "must be COUNT/SECONDS such as 5/10, or off";
}

static const char *check_public_url(const char *value)
{
    struct text url = text_of(value), rest;
    if (url.len == 0)
        return NULL;
    rest = text_starts(url, "https://")  ? (struct text){url.at + 8, url.len - 8}
           : text_starts(url, "http://") ? (struct text){url.at + 7, url.len - 7}
                                         : (struct text){NULL, 0};
    return rest.len > 0 && !memchr(rest.at, '/', rest.len)
               ? NULL
               : "must be scheme and host, such as https://queue.example.com";
}

static const char *check_origins(const char *value)
{
    struct text rest = text_of(value), origin;
    while (text_next(&rest, ',', &origin)) {
        origin = text_trim(origin);
        if (origin.len && !text_starts(origin, "https://") && !text_starts(origin, "http://"))
            return "must be a list of origins such as https://shop.example.com";
    }
    return NULL;
}

static const struct option_def defs[] = {
    SETTING_ROWS("127.0.0.1:8082"),
    {"LISTEN", OPTION_TEXT, FIELD(listen), 3, 127, "0.0.0.0:8080", "IP:PORT for visitors; port 0 picks a free one.",
     NULL, NULL},
    {"LISTEN_BACKLOG", OPTION_INT, FIELD(backlog), 1, 65535, "4096", "Connections waiting to be accepted.", NULL, NULL},
    {"REUSEPORT", OPTION_FLAG, FIELD(reuseport), 0, 0, "off", "Several gateways of one machine share LISTEN's port.",
     NULL, NULL},
    {"PUBLIC_URL", OPTION_TEXT, FIELD(public_url), 0, 255, "", "Scheme and host as visitors see them.", NULL,
     check_public_url},
    {"SERVER_ID", OPTION_TEXT, FIELD(server_id), 1, 64, "auto",
     "Id of this gateway; auto: the EC2 instance id, else a UUID; auto:NAME appends -NAME.", NULL, NULL},
    {"IMDS_URL", OPTION_TEXT, FIELD(imds_url), 0, 255, "http://169.254.169.254",
     "EC2 instance metadata service, asked once for at most 1 s; empty: not asked.", NULL, NULL},
    {"TICKET_KEY_FILE", OPTION_TEXT, FIELD(ticket_key_file), 1, 511, NULL,
     "Key of resume tickets: at least 32 random bytes, the same on all gateways.", NULL, NULL},
    {"USER_AUTH", OPTION_WORD, FIELD(user_auth), 0, 7, "none", "Whether joins need a user token.", "none jwt", NULL},
    {"USER_ALG", OPTION_WORD, FIELD(user_alg), 0, 7, "HS256", "Algorithm of user tokens.", "HS256 ES256 RS256", NULL},
    {"USER_KEY_FILE", OPTION_TEXT, FIELD(user_key_file), 0, 511, "",
     "Keys of user tokens: the secret, the public PEM, or a JWKS file; read again on SIGHUP.", NULL, NULL},
    {"USER_ISSUER", OPTION_TEXT, FIELD(user_issuer), 0, 511, "", "iss a user token must have; empty: any.", NULL, NULL},
    {"USER_AUDIENCE", OPTION_TEXT, FIELD(user_audience), 0, 511, "", "aud a user token must have; any: not checked.",
     NULL, NULL},
    {"USER_CLAIM", OPTION_TEXT, FIELD(user_claim), 1, 63, "sub", "Claim that holds the user's id.", NULL, NULL},
    {"USER_LEEWAY_S", OPTION_INT, FIELD(user_leeway_s), 0, 3600, "30", "Seconds a user token's clock may differ.", NULL,
     NULL},
    {"USER_COOKIE", OPTION_TEXT, FIELD(user_cookie), 0, 64, "access_token", "Cookie that may hold the user token.",
     NULL, NULL},
    {"USER_QUERY", OPTION_FLAG, FIELD(user_query), 0, 0, "off", "Whether access_token= may hold the user token.", NULL,
     NULL},
    {"TRUSTED_PROXIES", OPTION_TEXT, FIELD(trusted_proxies), 0, 2047, "", "Networks whose X-Forwarded-For is believed.",
     NULL, check_networks},
    {"ALLOW_ORIGINS", OPTION_TEXT, FIELD(allow_origins), 0, 2047, "",
     "Origins of other sites that may join, exact, separated by commas.", NULL, check_origins},
    {"CONNECTIONS_MAX", OPTION_INT, FIELD(connections_max), 0, 1000000, "0",
     "Most connections at once; 0: the file descriptor limit less 64.", NULL, NULL},
    {"JOIN_LIMIT", OPTION_TEXT, FIELD(join_limit), 1, 31, "5/10", "Joins per client address, COUNT/SECONDS, or off.",
     NULL, check_limit},
    {"JOIN_LIMIT_EXEMPT", OPTION_TEXT, FIELD(join_limit_exempt), 0, 2047, "",
     "Networks that JOIN_LIMIT and VERIFY_LIMIT do not count.", NULL, check_networks},
    {"VERIFY_LIMIT", OPTION_TEXT, FIELD(verify_limit), 1, 31, "off",
     "Checks of entry tokens per client address, COUNT/SECONDS, or off.", NULL, check_limit},
    {"HEARTBEAT_S", OPTION_INT, FIELD(heartbeat_s), 1, 50, "15", "Seconds of silence before a comment line.", NULL,
     NULL},
    {"KEEPALIVE_S", OPTION_INT, FIELD(keepalive_s), 1, 3600, "75",
     "Seconds an idle connection stays open; longer than the load balancer's idle timeout.", NULL, NULL},
    {"DRAIN_NOTICE_S", OPTION_INT, FIELD(drain_notice_s), 0, 3600, "15", "Seconds /readyz fails before streams end.",
     NULL, NULL},
    {"WEB_DIR", OPTION_TEXT, FIELD(web_dir), 0, 511, "",
     "Folder with an operator's own room.html, room.css, waitroom.js, read at the start; what is missing is built in.",
     NULL, NULL},
    {"DRAIN_S", OPTION_INT, FIELD(drain_s), 0, 3600, "60", "Seconds over which the streams end.", NULL, NULL},
};

static const char *const foreign[] = {"ADMIN_LISTEN", "ADMIN_TOKEN_FILE", "PUBLISHER_ID", "TICK_MS", "LEASE_MS", NULL};

const struct option_table gateway_option_table = {
    "anteroom-gateway",
    "waiting room gateway: HTTP in, Server-Sent Events out.",
    defs,
    sizeof defs / sizeof defs[0],
    foreign,
};

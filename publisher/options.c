#include "publisher/options.h"

#include "common/line/keyspace.h"

#define FIELD(field) offsetof(struct publisher_options, field)

static const char *check_id(const char *value)
{
    return !*value || server_id_valid(text_of(value)) ? NULL : "must be of A-Z a-z 0-9 _ - . and not begin with a dot";
}

static const struct option_def defs[] = {
    SETTING_ROWS("127.0.0.1:8083"),
    {"ADMIN_LISTEN", OPTION_TEXT, FIELD(admin_listen), 3, 127, "127.0.0.1:8081",
     "IP:PORT of the admin API, plain HTTP; port 0 picks a free one.", NULL, NULL},
    {"ADMIN_TOKEN_FILE", OPTION_TEXT, FIELD(admin_token_file), 1, 511, NULL,
     "Who may use the admin API: NAME TOKEN [read] a line.", NULL, NULL},
    {"PUBLISHER_ID", OPTION_TEXT, FIELD(publisher_id), 0, 64, "",
     "Id of this publisher, unlike any other's; empty: a UUID.", NULL, check_id},
    {"TICK_MS", OPTION_INT, FIELD(tick_ms), 50, 60000, "1000",
     "Milliseconds between two looks at a session; a due refill or the doorbell comes sooner.", NULL, NULL},
    {"LEASE_MS", OPTION_INT, FIELD(lease_ms), 500, 600000, "5000",
     "Milliseconds after which another publisher takes over the sessions of a dead one.", NULL, NULL},
};

/* clang-format off */
static const char *const foreign[] = {
    "LISTEN", "LISTEN_BACKLOG", "REUSEPORT", "PUBLIC_URL", "SERVER_ID", "IMDS_URL", "TICKET_KEY_FILE", "USER_AUTH",
    "USER_ALG", "USER_KEY_FILE", "USER_ISSUER", "USER_AUDIENCE", "USER_CLAIM", "USER_LEEWAY_S", "USER_COOKIE",
    "USER_QUERY", "TRUSTED_PROXIES", "ALLOW_ORIGINS", "CONNECTIONS_MAX", "JOIN_LIMIT", "JOIN_LIMIT_EXEMPT",
    "VERIFY_LIMIT", "HEARTBEAT_S", "KEEPALIVE_S", "DRAIN_NOTICE_S", "DRAIN_S", "WEB_DIR", NULL,
};
/* clang-format on */

const struct option_table publisher_option_table = {
    "anteroom-publisher",
    "waiting room scheduler: admits, signs entry tokens, tells the gateways.",
    defs,
    sizeof defs / sizeof defs[0],
    foreign,
};

/** Settings both daemons have, and rows of the option table for them. A program's struct begins with a struct setting.
 */
#ifndef ANTEROOM_BASE_SETTING_H
#define ANTEROOM_BASE_SETTING_H

#include "common/base/option.h"

struct setting {
    char redis_url[1024], redis_password_file[512], redis_ca_file[512], key_prefix[65];
    char log_level[8], log_format[8], access_log[8];
    char entry_alg[8], entry_issuer[129], entry_key_file[512], entry_key_file_next[512], entry_key_id[65];
    char metrics_listen[128];
    int64_t restore_ms;
};

const char *setting_check_prefix(const char *value);
/** Level and format of the log. */
void setting_apply_log(const struct setting *setting);

#define SETTING(field) offsetof(struct setting, field)
#define SETTING_ROWS(metrics_default)                                                                                 \
    {"REDIS_URL",                                                                                                     \
     OPTION_SECRET,                                                                                                   \
     SETTING(redis_url),                                                                                              \
     1,                                                                                                               \
     1023,                                                                                                            \
     "redis://127.0.0.1:6379",                                                                                        \
     "Where Redis is: redis://, rediss:// (TLS) or unix://; a password only in the environment or a file.",           \
     NULL,                                                                                                            \
     NULL},                                                                                                           \
        {"REDIS_PASSWORD_FILE",                                                                                       \
         OPTION_TEXT,                                                                                                 \
         SETTING(redis_password_file),                                                                                \
         0,                                                                                                           \
         511,                                                                                                         \
         "",                                                                                                          \
         "File with Redis' password.",                                                                                \
         NULL,                                                                                                        \
         NULL},                                                                                                       \
        {"REDIS_CA_FILE",                                                                                             \
         OPTION_TEXT,                                                                                                 \
         SETTING(redis_ca_file),                                                                                      \
         0,                                                                                                           \
         511,                                                                                                         \
         "",                                                                                                          \
         "PEM file of the CA for rediss://; default: the system's.",                                                  \
         NULL,                                                                                                        \
         NULL},                                                                                                       \
        {"KEY_PREFIX", OPTION_TEXT,         SETTING(key_prefix), 0, 64, "", "Text in front of every key in Redis.",   \
         NULL,         setting_check_prefix},                                                                         \
        {"LOG_LEVEL", OPTION_WORD, SETTING(log_level),          0,                                                    \
         7,           "info",      "Least level of log lines.", "debug info warn error",                              \
         NULL},                                                                                                       \
        {"LOG_FORMAT",  OPTION_WORD, SETTING(log_format), 0, 7, "logfmt", "Form of log lines on stderr.",             \
         "logfmt json", NULL},                                                                                        \
        {"ACCESS_LOG",     OPTION_WORD, SETTING(access_log), 0, 7, "errors", "Which requests are logged.",            \
         "off errors all", NULL},                                                                                     \
        {"ENTRY_ALG",         OPTION_WORD, SETTING(entry_alg), 0, 7, "HS256", "Algorithm of entry tokens.",           \
         "HS256 ES256 RS256", NULL},                                                                                  \
        {"ENTRY_ISSUER", OPTION_TEXT, SETTING(entry_issuer), 1, 128, "anteroom", "iss of entry tokens.", NULL, NULL}, \
        {"ENTRY_KEY_FILE",                                                                                            \
         OPTION_TEXT,                                                                                                 \
         SETTING(entry_key_file),                                                                                     \
         1,                                                                                                           \
         511,                                                                                                         \
         NULL,                                                                                                        \
         "Key of entry tokens: the publisher's signs, the gateway's verifies (same secret, or public PEM).",          \
         NULL,                                                                                                        \
         NULL},                                                                                                       \
        {"ENTRY_KEY_FILE_NEXT",                                                                                       \
         OPTION_TEXT,                                                                                                 \
         SETTING(entry_key_file_next),                                                                                \
         0,                                                                                                           \
         511,                                                                                                         \
         "",                                                                                                          \
         "The entry key that comes next: the gateway accepts it too, the publisher only checks it; the file may be "  \
         "missing.",                                                                                                  \
         NULL,                                                                                                        \
         NULL},                                                                                                       \
        {"ENTRY_KEY_ID",                                                                                              \
         OPTION_TEXT,                                                                                                 \
         SETTING(entry_key_id),                                                                                       \
         0,                                                                                                           \
         64,                                                                                                          \
         "",                                                                                                          \
         "kid of entry tokens; default: from the key's hash.",                                                        \
         NULL,                                                                                                        \
         NULL},                                                                                                       \
        {"RESTORE_MS",                                                                                                \
         OPTION_INT,                                                                                                  \
         SETTING(restore_ms),                                                                                         \
         0,                                                                                                           \
         600000,                                                                                                      \
         "10000",                                                                                                     \
         "Milliseconds after Redis lost data in which gateways put their connections back and nobody is let in.",     \
         NULL,                                                                                                        \
         NULL},                                                                                                       \
    {                                                                                                                 \
        "METRICS_LISTEN", OPTION_TEXT, SETTING(metrics_listen), 3, 127, metrics_default,                              \
            "IP:PORT of /metrics; port 0 picks a free one.", NULL, NULL                                               \
    }

#endif

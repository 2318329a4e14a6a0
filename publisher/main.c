/* The composition root: reads the options, runs the publisher, and checks that nothing was left behind. */
#include "common/base/check.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "publisher/publisher.h"

#include <signal.h>
#include <stdio.h>

extern char **environ;

#define CALL_TIMEOUT_MS 3000
#define EXIT_BAD_CONFIG 2

static void setup_log(const struct setting *setting)
{
    static const struct {
        const char *word;
        enum log_level level;
    } levels[] = {{"debug", LOG_DEBUG}, {"info", LOG_INFO}, {"warn", LOG_WARN}, {"error", LOG_ERROR}};
    enum log_level level = LOG_INFO;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strcmp(levels[i].word, setting->log_level) == 0)
            level = levels[i].level;
    log_setup(level, strcmp(setting->log_format, "json") == 0);
}

/* A version 4 UUID. */
static void make_id(char *dst, size_t size)
{
    uint8_t random[16];
    char hex[33] = "";
    entropy_fill(random, sizeof random);
    random[6] = (uint8_t)((random[6] & 0x0f) | 0x40);
    random[8] = (uint8_t)((random[8] & 0x3f) | 0x80);
    hex_encode(hex, random, sizeof random);
    snprintf(dst, size, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* The URL with what comes from files. False: said why on stderr. */
static bool redis_target(const struct setting *setting, struct redis_url *url)
{
    const char *why = "";
    if (redis_url_parse(url, text_of(setting->redis_url), &why) != OK) {
        fprintf(stderr, "anteroom-publisher: --redis-url %s\n", why);
        return false;
    }
    CHECK(text_copy(url->ca_file, sizeof url->ca_file, text_of(setting->redis_ca_file)) == OK);
    if (!setting->redis_password_file[0])
        return true;
    FILE *file = fopen(setting->redis_password_file, "r");
    bool read = file && fgets(url->password, sizeof url->password, file);
    if (file)
        fclose(file);
    if (!read)
        fprintf(stderr, "anteroom-publisher: --redis-password-file %s cannot be read\n", setting->redis_password_file);
    url->password[strcspn(url->password, "\r\n")] = '\0';
    return read;
}

/* Everything that can be wrong before anything runs. */
static bool prepare(struct publisher *publisher, struct redis_url *url)
{
    const struct publisher_options *options = &publisher->options;
    char why[640];
    if (!redis_target(&options->common, url))
        return false;
    if (secrets_load(&publisher->secrets, options, why, sizeof why) != OK) {
        fprintf(stderr, "anteroom-publisher: %s\n", why);
        return false;
    }
    CHECK(text_copy(publisher->line.prefix, sizeof publisher->line.prefix, text_of(options->common.key_prefix)) == OK);
    publisher->line.timeout_ms = CALL_TIMEOUT_MS;
    if (options->publisher_id[0])
        CHECK(text_copy(publisher->id, sizeof publisher->id, text_of(options->publisher_id)) == OK);
    else
        make_id(publisher->id, sizeof publisher->id);
    return true;
}

static int run(struct publisher *publisher, const struct redis_url *url)
{
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    publisher->loop = &loop;
    if (publisher_start(publisher, url)) {
        log_event(LOG_INFO, "started", LOG_S("publisher", publisher->id), LOG_S("version", ANTEROOM_VERSION));
    } else {
        publisher->exit_code = 1;
        publisher_close(publisher);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    publisher_finish(publisher);
    if (uv_loop_close(&loop) != 0) {
        log_event(LOG_ERROR, "loop-busy", LOG_S("detail", "handles were left open"));
        publisher->exit_code = 1;
    }
    log_event(LOG_INFO, "stopped", LOG_I("code", publisher->exit_code));
    return publisher->exit_code;
}

int main(int argc, char **argv)
{
    static struct publisher publisher;
    struct redis_url url = {.db = 0};
    enum option_action action =
        options_read(&publisher_option_table, argc, argv, environ, ANTEROOM_VERSION, &publisher.options);
    if (action == OPTION_EXIT_OK || action == OPTION_EXIT_BAD)
        return action == OPTION_EXIT_OK ? 0 : EXIT_BAD_CONFIG;
    setup_log(&publisher.options.common);
    signal(SIGPIPE, SIG_IGN);
    bool good = prepare(&publisher, &url);
    if (!good || action == OPTION_CHECK_CONFIG) {
        secrets_finish(&publisher.secrets);
        return good ? 0 : EXIT_BAD_CONFIG;
    }
    line_scripts_prepare();
    return run(&publisher, &url);
}

/* The composition root: reads the options, runs the publisher, and checks that nothing was left behind. */
#include "common/base/check.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/line/memory.h"
#include "common/line/prove.h"
#include "common/redis/target.h"
#include "publisher/publisher.h"

#include <signal.h>
#include <stdio.h>

extern char **environ;

#define CALL_TIMEOUT_MS 3000
#define EXIT_BAD_CONFIG 2

/* Everything that can be wrong before anything runs. */
static bool prepare(struct publisher *publisher, struct redis_url *url)
{
    const struct publisher_options *options = &publisher->options;
    char why[640];
    if (redis_target(&options->common, url, why, sizeof why) != OK ||
        secrets_load(&publisher->secrets, options, why, sizeof why) != OK) {
        fprintf(stderr, "anteroom-publisher: %s\n", why);
        return false;
    }
    if (token_key_prove(publisher->secrets.entry) != OK) {
        fprintf(stderr,
                "anteroom-publisher: %s: a token signed with it is refused by libjwt, and so it would be by sites\n",
                options->common.entry_key_file);
        return false;
    }
    CHECK(text_copy(publisher->line.prefix, sizeof publisher->line.prefix, text_of(options->common.key_prefix)) == OK);
    publisher->line.timeout_ms = CALL_TIMEOUT_MS;
    if (options->publisher_id[0])
        CHECK(text_copy(publisher->id, sizeof publisher->id, text_of(options->publisher_id)) == OK);
    else
        entropy_uuid(publisher->id);
    return true;
}

static int run(struct publisher *publisher, const struct redis_url *url)
{
    static uv_loop_t loop;
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
    memory_init();
    enum option_action action =
        options_read(&publisher_option_table, argc, argv, environ, ANTEROOM_VERSION, &publisher.options);
    if (action == OPTION_EXIT_OK || action == OPTION_EXIT_BAD)
        return action == OPTION_EXIT_OK ? 0 : EXIT_BAD_CONFIG;
    setting_apply_log(&publisher.options.common);
    signal(SIGPIPE, SIG_IGN);
    bool good = prepare(&publisher, &url);
    if (!good || action == OPTION_CHECK_CONFIG) {
        secrets_finish(&publisher.secrets);
        return good ? 0 : EXIT_BAD_CONFIG;
    }
    line_scripts_prepare();
    return run(&publisher, &url);
}

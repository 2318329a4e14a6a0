/* anteroom-crowd: starts visitors at a rate, shows how far they are, checks what they were told, and sums up. */
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/version.h"
#include "tests/load/crowd.h"
#include "tests/load/visitor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define PACE_MS 10
#define EXIT_BAD_CONFIG 2

#define FIELD(field) offsetof(struct crowd_options, field)
static const struct option_def defs[] = {
    {"URL", OPTION_TEXT, FIELD(url), 8, 1023, NULL,
     "Gateways, http://HOST:PORT, separated by commas; visitors take them in turn.", NULL, NULL},
    {"SESSION", OPTION_TEXT, FIELD(session), 1, 64, NULL, "Session to join.", NULL, NULL},
    {"VISITORS", OPTION_INT, FIELD(visitors), 1, 1000000, "100", "How many visitors.", NULL, NULL},
    {"RATE", OPTION_INT, FIELD(rate), 1, 1000000, "1000", "Arrivals a second.", NULL, NULL},
    {"VIRTUAL", OPTION_FLAG, FIELD(is_virtual), 0, 0, "off", "Virtual users: join and do not listen.", NULL, NULL},
    {"LEAVE_PERCENT", OPTION_INT, FIELD(leave_percent), 0, 100, "0", "Share that leaves while waiting.", NULL, NULL},
    {"RECONNECT_PERCENT", OPTION_INT, FIELD(reconnect_percent), 0, 100, "0",
     "Share that drops the connection once and comes back elsewhere.", NULL, NULL},
    {"USER_KEY_FILE", OPTION_TEXT, FIELD(user_key_file), 0, 511, "", "Secret to make user tokens with (HS256).", NULL,
     NULL},
    {"HEADER", OPTION_TEXT, FIELD(header), 0, 511, "", "One more header line for each request.", NULL, NULL},
    {"SOURCE_ADDRESSES", OPTION_INT, FIELD(source_addresses), 0, 65000, "0",
     "Loopback addresses to come from; 0: the system's choice.", NULL, NULL},
    {"TIMEOUT", OPTION_INT, FIELD(timeout_s), 1, 86400, "300", "Seconds until it stops in any case.", NULL, NULL},
    {"JSON", OPTION_TEXT, FIELD(json), 0, 511, "", "File for the summary as JSON.", NULL, NULL},
};

const struct option_table crowd_option_table = {
    "anteroom-crowd", "load client: many visitors, each an event stream.", defs, sizeof defs / sizeof defs[0], NULL,
};

static bool parse_target(struct text url, struct target *target)
{
    char host[128];
    int64_t port = 80;
    if (!text_starts(url, "http://"))
        return false;
    struct text rest = {url.at + 7, url.len - 7}, name;
    while (rest.len && rest.at[rest.len - 1] == '/')
        rest.len--;
    if (text_copy(target->host, sizeof target->host, rest) != OK || !text_next(&rest, ':', &name))
        return false;
    if ((rest.at && text_int(rest, 1, 65535, &port) != OK) || text_copy(host, sizeof host, name) != OK)
        return false;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return false;
    memcpy(&target->address, found->ai_addr, sizeof target->address);
    target->address.sin_port = htons((uint16_t)port);
    freeaddrinfo(found);
    return true;
}

static bool parse_targets(struct crowd *crowd)
{
    struct text rest = text_of(crowd->options.url), url;
    while (text_next(&rest, ',', &url)) {
        if (crowd->target_count == TARGETS_MAX || !parse_target(url, &crowd->targets[crowd->target_count++])) {
            fprintf(stderr, "anteroom-crowd: --url must be a list of http://HOST:PORT\n");
            return false;
        }
    }
    return crowd->target_count > 0;
}

static void show_progress(struct crowd *crowd, double seconds)
{
    char bar[41];
    const struct summary *summary = &crowd->summary;
    size_t filled = crowd->ended * 40 / summary->visitors;
    if (!isatty(STDERR_FILENO))
        return;
    memset(bar, '.', 40);
    memset(bar, '#', filled);
    bar[40] = '\0';
    fprintf(stderr, "\r[%s] %zu/%zu  joined %zu  admitted %zu  left %zu  %.0f s ", bar, crowd->ended, summary->visitors,
            summary->joined, summary->admitted, summary->left, seconds);
}

static void finish(struct crowd *crowd)
{
    crowd->over = true;
    uv_close((uv_handle_t *)&crowd->pace, NULL);
    for (size_t i = 0; i < crowd->summary.visitors; i++)
        visitor_stop(&crowd->visitors[i]);
}

static void on_pace(uv_timer_t *timer)
{
    struct crowd *crowd = timer->data;
    uint64_t passed = clock_mono_ms() - crowd->start_ms;
    size_t due = (size_t)(passed * (uint64_t)crowd->options.rate / 1000) + 1;
    static uint64_t shown;
    while (crowd->started < due && crowd->started < crowd->summary.visitors)
        visitor_start(&crowd->visitors[crowd->started++]);
    if (passed / 200 != shown) {
        shown = passed / 200;
        show_progress(crowd, (double)passed / 1000);
    }
    if (crowd->ended == crowd->summary.visitors || passed > (uint64_t)crowd->options.timeout_s * 1000)
        finish(crowd);
}

static int by_ticket(const void *a, const void *b)
{
    const struct visitor *x = a, *y = b;
    return x->ticket_number < y->ticket_number ? -1 : x->ticket_number > y->ticket_number;
}

/* In the order of tickets nobody may be admitted earlier than somebody before, and nobody may be passed over. Two lines
 * of equal length that met on the way (an admission found by a lookup has whole seconds only) are not told apart. Who
 * asked to leave and did not hear the answer may have been admitted or not. */
static void check_order(struct crowd *crowd)
{
    struct summary *summary = &crowd->summary;
    int64_t latest = 0;
    uint64_t last_ticket = 0, admitted_up_to = 0;
    qsort(crowd->visitors, summary->visitors, sizeof *crowd->visitors, by_ticket);
    for (size_t i = 0; i < summary->visitors; i++)
        if (crowd->visitors[i].state == VISITOR_ENTERED)
            admitted_up_to = crowd->visitors[i].ticket_number;
    for (size_t i = 0; i < summary->visitors; i++) {
        struct visitor *visitor = &crowd->visitors[i];
        bool waiting = visitor->state == VISITOR_WAITING || visitor->state == VISITOR_JOINING;
        summary->waiting += waiting;
        if (visitor->state == VISITOR_WAITING && !visitor->leaving && visitor->ticket_number < admitted_up_to)
            summary->order_violations++;
        if (visitor->state != VISITOR_ENTERED)
            continue;
        summary->duplicate_entries += visitor->ticket_number == last_ticket;
        last_ticket = visitor->ticket_number;
        bool exact = visitor->admitted_ms % 1000 != 0;
        summary->order_violations += exact && visitor->admitted_ms < latest;
        if (exact && visitor->admitted_ms > latest)
            latest = visitor->admitted_ms;
    }
}

static int report(struct crowd *crowd, double seconds)
{
    struct summary *summary = &crowd->summary;
    check_order(crowd);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\n");
    summary_print(summary, seconds, stdout);
    if (crowd->options.json[0]) {
        FILE *file = fopen(crowd->options.json, "w");
        if (!file) {
            fprintf(stderr, "anteroom-crowd: %s: %s\n", crowd->options.json, strerror(errno));
            return 1;
        }
        summary_json(summary, seconds, file);
        fclose(file);
    }
    return summary_broken(summary) ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct crowd crowd;
    uv_loop_t loop;
    char why[640];
    struct rlimit limit;
    enum option_action action =
        options_read(&crowd_option_table, argc, argv, (char *[]){NULL}, ANTEROOM_VERSION, &crowd.options);
    if (action != OPTION_RUN)
        return action == OPTION_EXIT_BAD ? EXIT_BAD_CONFIG : 0;
    if (!parse_targets(&crowd))
        return EXIT_BAD_CONFIG;
    if (crowd.options.user_key_file[0] &&
        token_key_load(&crowd.user_key, TOKEN_HS256, crowd.options.user_key_file, NULL, true, why, sizeof why) != OK) {
        fprintf(stderr, "anteroom-crowd: %s\n", why);
        return EXIT_BAD_CONFIG;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    signal(SIGPIPE, SIG_IGN);
    CHECK(uv_loop_init(&loop) == 0);
    crowd.loop = &loop;
    crowd.summary.visitors = (size_t)crowd.options.visitors;
    crowd.visitors = calloc(crowd.summary.visitors, sizeof *crowd.visitors);
    CHECK(crowd.visitors);
    for (size_t i = 0; i < crowd.summary.visitors; i++)
        visitor_init(&crowd.visitors[i], &crowd, (uint32_t)i);
    crowd.start_ms = clock_mono_ms();
    uv_timer_init(&loop, &crowd.pace);
    crowd.pace.data = &crowd;
    uv_timer_start(&crowd.pace, on_pace, 0, PACE_MS);
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0);
    int code = report(&crowd, (double)(clock_mono_ms() - crowd.start_ms) / 1000);
    for (size_t i = 0; i < crowd.summary.visitors; i++) {
        answer_finish(&crowd.visitors[i].answer);
        free(crowd.visitors[i].ticket);
    }
    free(crowd.visitors);
    summary_finish(&crowd.summary);
    token_key_destroy(crowd.user_key);
    return code;
}

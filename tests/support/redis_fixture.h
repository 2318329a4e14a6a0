/** A loop with one Redis client on it, and what the client told. Every wait has a guard: a test that would hang fails.
 */
#ifndef ANTEROOM_TESTS_REDIS_FIXTURE_H
#define ANTEROOM_TESTS_REDIS_FIXTURE_H

#include "common/redis/redis.h"

#include <uv.h>

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/** How one call ended. */
struct outcome {
    unsigned calls; /* of its callback: never more than 1 */
    enum err err;
    bool has_reply;
    enum reply_kind kind;
    char text[128];
    int64_t integer;
    size_t text_len, order; /* the n-th callback of the fixture */
    struct redis_fixture *fixture;
    void (*then)(struct outcome *outcome); /* run inside the callback; may be NULL */
};

struct redis_fixture {
    uv_loop_t loop;
    uv_timer_t guard;
    bool is_late;
    struct redis_url url;
    struct redis_settings settings;
    struct redis *redis;
    bool is_closed; /* its redis */
    unsigned ups, downs, messages, dones, outcomes;
    char detail[512], message[128], done_command[32];
};

/** Settings for quick tests; change what differs before the start. */
void redis_fixture_init(struct redis_fixture *fixture, const char *url);
void redis_fixture_start(struct redis_fixture *fixture);
/** Starts, and waits until it is up. */
void redis_fixture_up(struct redis_fixture *fixture);
/** Closes what is open; nothing may be left in the loop. */
void redis_fixture_finish(struct redis_fixture *fixture);
/** One turn of the loop; fails the test once the guard has run out. */
void redis_fixture_turn(struct redis_fixture *fixture);
/** Words split at blanks. */
enum err redis_fixture_call(struct redis_fixture *fixture, struct outcome *outcome, uint32_t timeout_ms,
                            const char *words);
enum err redis_fixture_eval(struct redis_fixture *fixture, struct outcome *outcome, const struct redis_script *script,
                            const char *key, const char *arg);
/** A call that must be taken and answered. */
void redis_fixture_ask(struct redis_fixture *fixture, struct outcome *outcome, const char *words);
redis_callback redis_fixture_answer; /* DATA is a struct outcome */

#define UNTIL(fixture, condition) \
    while (!(condition))          \
    redis_fixture_turn(fixture)

#endif

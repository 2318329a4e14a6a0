/** A peer that plays Redis by a table of rules, over TCP on the test's own loop. */
#ifndef ANTEROOM_TESTS_REDIS_FAKE_H
#define ANTEROOM_TESTS_REDIS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum fake_then { FAKE_STAY, FAKE_CLOSE, FAKE_RESET, FAKE_SLOWLY };

/** The first rule that fits answers. Without one: +PONG to PING, +OK to the rest. */
struct fake_rule {
    const char *command; /* its first word, in capitals */
    const char *answer;  /* "" = silence */
    enum fake_then then;
    unsigned connection; /* only on the n-th, from 1; 0 = on each */
};

#define FAKE_RULES_MAX 8

struct fake_connection;

struct redis_fake {
    uv_tcp_t listener;
    struct fake_rule rules[FAKE_RULES_MAX];
    size_t rule_count;
    unsigned accepted, open;
    struct fake_connection *connections; /* newest first */
    char url[64];
    char seen[1024]; /* first words of all commands, each with a blank behind it */
};

/** RULES are copied, their texts are not: those must live until the loop is empty. */
void redis_fake_start(struct redis_fake *fake, uv_loop_t *loop, const struct fake_rule *rules, size_t rule_count);
/** Bytes nobody asked for, to the newest connection. */
void redis_fake_say(struct redis_fake *fake, const char *bytes, size_t len);
/** No more connections: from now on they are refused. */
void redis_fake_stop_listening(struct redis_fake *fake);
/** Closes all; the loop must still turn. */
void redis_fake_stop(struct redis_fake *fake);

#endif

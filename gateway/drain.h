/** Going away without a refused request: (1) /readyz fails and newcomers are sent elsewhere while the balancer notices,
 * (2) the open streams end evenly, each with its own retry, (3) listeners close, parks are flushed, exit. */
#ifndef ANTEROOM_GATEWAY_DRAIN_H
#define ANTEROOM_GATEWAY_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct gateway;

enum drain_phase { DRAIN_NOT, DRAIN_NOTICE, DRAIN_STREAMS, DRAIN_FLUSH, DRAIN_DONE };

struct drain {
    struct gateway *gateway;
    enum drain_phase phase;
    uint64_t phase_ms;   /* when the phase began, loop time */
    uint64_t streams_ms; /* how long the streams take to end */
    size_t streams;      /* how many there were */
    int exit_code;
    uv_timer_t timer;
};

void drain_init(struct drain *drain, struct gateway *gateway);
void drain_close(struct drain *drain);
/** SIGTERM: begins; a second one ends the streams within 1 s. */
void drain_signal(struct drain *drain);
/** No notice, streams end within 1 s, and the process ends with CODE. */
void drain_now(struct drain *drain, int code);
/** Newcomers are refused. */
bool drain_active(const struct drain *drain);
bool drain_done(const struct drain *drain);

#endif

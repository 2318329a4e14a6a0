/** Slows down who guesses admin tokens: after GUARD_FREE failures from an address its refusals take GUARD_DELAY_MS. */
#ifndef ANTEROOM_PUBLISHER_GUARD_H
#define ANTEROOM_PUBLISHER_GUARD_H

#include "common/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct http_request;
struct sockaddr;
typedef struct uv_loop_s uv_loop_t;

#define GUARD_FREE 5
#define GUARD_DELAY_MS 1000
#define GUARD_FORGET_MS 600000 /* a quiet address starts anew */
#define GUARD_ADDRESSES 256    /* past it the one that was quiet longest is forgotten */

struct guard {
    uv_loop_t *loop;
    struct guard_address {
        uint8_t bytes[16]; /* IPv4 in its mapped form */
        uint32_t failures; /* 0: free */
        uint64_t last_ms;
    } addresses[GUARD_ADDRESSES];
};

void guard_init(struct guard *guard, uv_loop_t *loop);
/** A token from PEER was wrong. True: let the answer wait. */
bool guard_failed(struct guard *guard, const struct sockaddr *peer, uint64_t now_ms);
void guard_passed(struct guard *guard, const struct sockaddr *peer);
/** Answers REQUEST with ANSWER after GUARD_DELAY_MS, or at once when memory is short. The request is consumed. */
void guard_answer_later(struct guard *guard, struct http_request *request,
                        void (*answer)(struct http_request *request));

#endif

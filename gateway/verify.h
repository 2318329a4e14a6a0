/** GET /api/queue/verify: may the holder of this entry token come in? Signature and claims decide; Redis is asked
 * whether the token was used already, and believed where it answers within VERIFY_WAIT_MS. Without it the claims alone
 * count, so that an outage of Redis never locks anybody out who was let in. */
#ifndef ANTEROOM_GATEWAY_VERIFY_H
#define ANTEROOM_GATEWAY_VERIFY_H

#include "common/base/list.h"

#include <stdbool.h>
#include <uv.h>

#define VERIFY_WAIT_MS 250

struct gateway;
struct http_request;

struct verify {
    struct gateway *gateway;
    struct list waiting; /* questions under way whose request waits, oldest first */
    bool slow;           /* one came too late: nobody waits until Redis answers again */
    uv_timer_t timer;    /* the oldest one's deadline */
};

void verify_init(struct verify *verify, struct gateway *gateway);
void verify_close(struct verify *verify);
/** 204, 401 or 403, and never another status. */
void verify_handle(struct http_request *request, void *context);

#endif

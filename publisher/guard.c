#include "publisher/guard.h"

#include "common/base/check.h"
#include "common/http/request.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <uv.h>

void guard_init(struct guard *guard, uv_loop_t *loop)
{
    *guard = (struct guard){.loop = loop};
}

static void address_bytes(const struct sockaddr *peer, uint8_t bytes[16])
{
    memset(bytes, 0, 16);
    if (peer->sa_family == AF_INET6) {
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 16);
    } else {
        memset(bytes + 10, 0xff, 2);
        memcpy(bytes + 12, &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
    }
}

static struct guard_address *address_find(struct guard *guard, const struct sockaddr *peer, bool make)
{
    uint8_t bytes[16];
    struct guard_address *oldest = &guard->addresses[0];
    address_bytes(peer, bytes);
    for (size_t i = 0; i < GUARD_ADDRESSES; i++) {
        struct guard_address *address = &guard->addresses[i];
        if (address->failures > 0 && memcmp(address->bytes, bytes, sizeof bytes) == 0)
            return address;
        if (address->last_ms < oldest->last_ms)
            oldest = address;
    }
    if (!make)
        return NULL;
    *oldest = (struct guard_address){.failures = 0};
    memcpy(oldest->bytes, bytes, sizeof bytes);
    return oldest;
}

bool guard_failed(struct guard *guard, const struct sockaddr *peer, uint64_t now_ms)
{
    struct guard_address *address = address_find(guard, peer, true);
    if (now_ms - address->last_ms > GUARD_FORGET_MS)
        address->failures = 0;
    address->last_ms = now_ms;
    if (address->failures < UINT32_MAX)
        address->failures++;
    return address->failures > GUARD_FREE;
}

void guard_passed(struct guard *guard, const struct sockaddr *peer)
{
    struct guard_address *address = address_find(guard, peer, false);
    if (address)
        *address = (struct guard_address){.failures = 0};
}

/* ---- answers that wait ---- */

struct waiting {
    uv_timer_t timer;
    struct http_request *request; /* NULL once its client is gone */
    void (*answer)(struct http_request *request);
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_gone(void *data)
{
    struct waiting *waiting = data;
    waiting->request = NULL;
    uv_close((uv_handle_t *)&waiting->timer, on_closed);
}

static void on_timer(uv_timer_t *timer)
{
    struct waiting *waiting = timer->data;
    struct http_request *request = waiting->request;
    http_request_on_gone(request, NULL, NULL);
    uv_close((uv_handle_t *)timer, on_closed);
    waiting->answer(request);
}

void guard_answer_later(struct guard *guard, struct http_request *request, void (*answer)(struct http_request *request))
{
    struct waiting *waiting = calloc(1, sizeof *waiting);
    if (!waiting) {
        answer(request);
        return;
    }
    waiting->request = request;
    waiting->answer = answer;
    CHECK(uv_timer_init(guard->loop, &waiting->timer) == 0);
    waiting->timer.data = waiting;
    uv_timer_start(&waiting->timer, on_timer, GUARD_DELAY_MS, 0);
    http_request_on_gone(request, on_gone, waiting);
}

#include "common/http/watchers.h"

#include "common/base/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

/* A descriptor as high as it gets; -1. */
static int high_descriptor(size_t count)
{
    struct rlimit limit;
    int low = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (low < 0)
        return -1;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && count >= limit.rlim_cur)
        count = (size_t)limit.rlim_cur - 1;
    int high = fcntl(low, F_DUPFD_CLOEXEC, (int)count);
    close(low);
    return high;
}

/* The list is as long as the highest descriptor that was ever watched wants it. */
void watchers_reserve(uv_loop_t *loop, size_t count)
{
    uv_poll_t *poll = malloc(sizeof *poll);
    int high = high_descriptor(count);
    if (poll && high >= 0 && uv_poll_init(loop, poll, high) == 0) {
        uv_poll_start(poll, UV_READABLE, NULL);
        uv_close((uv_handle_t *)poll, on_closed); /* it never polled */
    } else {
        log_event(LOG_WARN, "watchers-unreserved", LOG_I("count", count));
        free(poll);
    }
    if (high >= 0)
        close(high);
}

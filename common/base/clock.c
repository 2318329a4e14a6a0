#include "common/base/clock.h"

#include <stdio.h>
#include <time.h>

uint64_t clock_mono_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_mono_ms(void)
{
    return clock_mono_ns() / 1000000;
}

int64_t clock_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void clock_rfc3339(char dst[CLOCK_RFC3339_SIZE], int64_t unix_ms)
{
    const int64_t min = -62167219200000, max = 253402300799999; /* years 0 and 9999 */
    if (unix_ms < min)
        unix_ms = min;
    if (unix_ms > max)
        unix_ms = max;
    int64_t ms = unix_ms % 1000;
    if (ms < 0)
        ms += 1000;
    time_t seconds = (time_t)((unix_ms - ms) / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t len = strftime(dst, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    if (len != 19) /* years below 1000 come out short with some C libraries */
        len = (size_t)snprintf(dst, CLOCK_RFC3339_SIZE, "0000-01-01T00:00:00");
    snprintf(dst + len, CLOCK_RFC3339_SIZE - len, ".%03dZ", (int)(ms % 1000));
}

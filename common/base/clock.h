/** Time. Durations come from the monotonic clock, instants for people from the wall clock. */
#ifndef ANTEROOM_BASE_CLOCK_H
#define ANTEROOM_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/** Monotonic milliseconds and nanoseconds since some start; never steps. */
uint64_t clock_mono_ms(void);
uint64_t clock_mono_ns(void);
/** Milliseconds since 1970, UTC; may step. */
int64_t clock_wall_ms(void);

/** "2026-11-20T12:00:00.000Z" and its NUL. */
#define CLOCK_RFC3339_SIZE 25
/** RFC 3339, UTC, milliseconds. Outside the years 0 to 9999 the nearest of them. */
void clock_rfc3339(char dst[CLOCK_RFC3339_SIZE], int64_t unix_ms);

#endif

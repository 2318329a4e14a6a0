/** Randomness from the kernel. */
#ifndef ANTEROOM_BASE_ENTROPY_H
#define ANTEROOM_BASE_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

/** Fills with bytes fit for keys and ids. The kernel cannot refuse a started system: failure is a CHECK. */
void entropy_fill(void *bytes, size_t len);
/** Uniform in [0, BELOW) for jitter, from a buffered pool; BELOW > 0. */
uint32_t entropy_below(uint32_t below);

/** A random UUID (RFC 9562, version 4) and its NUL. */
#define ENTROPY_UUID_SIZE 37
void entropy_uuid(char dst[ENTROPY_UUID_SIZE]);

#endif

/** Memory that runs out: the N-th allocation from now on fails, once. Ours (through the linker's --wrap), and
 * jansson's and OpenSSL's, which come to ours by common/line/memory. The other libraries' fail in tests/faults/nomem.c.
 */
#ifndef ANTEROOM_TESTS_NOMEM_H
#define ANTEROOM_TESTS_NOMEM_H

#include <stdbool.h>
#include <stddef.h>

/** Puts jansson and OpenSSL under it, too. First thing in main: OpenSSL takes it before its first allocation only. */
void nomem_init(void);
/** N = 0: the next one. */
void nomem_arm(size_t n);
/** Everything is allocated again. True: one failed. */
bool nomem_disarm(void);

#endif

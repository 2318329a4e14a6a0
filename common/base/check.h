/** Assertions that stay on in release builds. For our own mistakes only: input of outsiders never reaches one. */
#ifndef ANTEROOM_BASE_CHECK_H
#define ANTEROOM_BASE_CHECK_H

#ifdef CPPCHECK /* it does not see that check_failed never returns */
#include <stdlib.h>
#define CHECK(condition) ((condition) ? (void)0 : abort())
#else
#define CHECK(condition)                                  \
    do {                                                  \
        if (!(condition))                                 \
            check_failed(#condition, __FILE__, __LINE__); \
    } while (0)
#endif

/** Says where on stderr and aborts. */
_Noreturn void check_failed(const char *condition, const char *file, int line);

#endif

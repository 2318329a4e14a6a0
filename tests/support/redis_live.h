/** A real redis-server of the test's own, in a folder of its own. A client that keeps trying finds out when it is up.
 */
#ifndef ANTEROOM_TESTS_REDIS_LIVE_H
#define ANTEROOM_TESTS_REDIS_LIVE_H

#include <stdbool.h>
#include <sys/types.h>

struct redis_live {
    pid_t pid;
    char folder[32], url[64];
};

/** False where there is no /usr/bin/redis-server. EXTRA: further arguments, ended by NULL; may be NULL. */
bool redis_live_start(struct redis_live *live, const char *const *extra);
/** Only the folder, for tests that prepare files in it. */
void redis_live_prepare(struct redis_live *live);
/** Ends the process, keeps the folder: may be started again. */
void redis_live_kill(struct redis_live *live);
void redis_live_finish(struct redis_live *live);
/** Runs a program to its end; true when it exited with 0. */
bool redis_live_run(char *const *argv);

#endif

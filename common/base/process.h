/** What the kernel says of this process, for metrics. */
#ifndef ANTEROOM_BASE_PROCESS_H
#define ANTEROOM_BASE_PROCESS_H

#include <stdint.h>

struct process_figures {
    double cpu_seconds;
    uint64_t resident_bytes, open_fds, max_fds;
};

/** What cannot be read is 0. */
void process_read(struct process_figures *figures);

#endif

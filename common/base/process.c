#include "common/base/process.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint64_t count = 0;
    if (!dir)
        return 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count > 3 ? count - 3 : 0; /* ".", ".." and the directory itself */
}

static uint64_t resident(void)
{
    unsigned long size, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu", &size, &pages) != 2)
        pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void process_read(struct process_figures *figures)
{
    struct rusage usage;
    struct rlimit limit;
    *figures = (struct process_figures){.resident_bytes = resident(), .open_fds = count_fds()};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        figures->cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        figures->max_fds = limit.rlim_cur;
}

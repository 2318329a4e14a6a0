#include "tests/support/redis_live.h"

#include "common/base/check.h"

#include <fcntl.h>
#include <stdint.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVER "/usr/bin/redis-server"
#define ARGUMENTS_MAX 40

static pid_t spawn(char *const *argv)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    int nowhere = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that crashes leaves no server behind */
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(argv[0], argv);
    _exit(127);
}

bool redis_live_run(char *const *argv)
{
    int status = 0;
    pid_t pid = spawn(argv);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void redis_live_prepare(struct redis_live *live)
{
    *live = (struct redis_live){0};
    snprintf(live->folder, sizeof live->folder, "/tmp/anteroom-redis-XXXXXX");
    CHECK(mkdtemp(live->folder));
    snprintf(live->url, sizeof live->url, "unix://%s/redis.sock", live->folder);
}

bool redis_live_start(struct redis_live *live, const char *const *extra)
{
    char socket_path[64];
    const char *argv[ARGUMENTS_MAX] = {SERVER, "--port",       "0",  "--save",           "",    "--appendonly",
                                       "no",   "--unixsocket", NULL, "--unixsocketperm", "700", "--dir",
                                       NULL};
    size_t argc = 13;
    if (access(SERVER, X_OK) != 0)
        return false;
    if (!live->folder[0])
        redis_live_prepare(live);
    snprintf(socket_path, sizeof socket_path, "%s/redis.sock", live->folder);
    argv[8] = socket_path;
    argv[12] = live->folder;
    for (; extra && *extra; extra++) {
        CHECK(argc < ARGUMENTS_MAX - 1);
        argv[argc++] = *extra;
    }
    live->pid = spawn((char *const *)(uintptr_t)argv);
    return true;
}

void redis_live_kill(struct redis_live *live)
{
    if (live->pid <= 0)
        return;
    kill(live->pid, SIGKILL);
    waitpid(live->pid, NULL, 0);
    live->pid = 0;
}

void redis_live_finish(struct redis_live *live)
{
    redis_live_kill(live);
    char program[] = "/bin/rm", flag[] = "-rf";
    char *argv[] = {program, flag, live->folder, NULL};
    if (live->folder[0])
        CHECK(redis_live_run(argv));
    live->folder[0] = '\0';
}

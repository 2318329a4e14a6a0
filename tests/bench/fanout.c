/* What a frame costs at the least: bare epoll and send. Accepts COUNT connections on a free loopback port (printed),
 * then sends FRAMES frames of SIZE bytes to each, one round a second, and prints the CPU a frame took. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long count = strtol(argv[1], NULL, 10), frames = strtol(argv[2], NULL, 10), size = strtol(argv[3], NULL, 10);
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), buffer = 8192;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int *fds = calloc((size_t)count, sizeof *fds);
    char request[4096], *frame = malloc((size_t)size);
    if (!fds || !frame || bind(listener, (struct sockaddr *)&address, len) != 0 || listen(listener, 4096) != 0)
        return 1;
    getsockname(listener, (struct sockaddr *)&address, &len);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    memset(frame, 'x', (size_t)size);
    for (long i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        event.data.fd = fds[i] = accept(listener, NULL, NULL);
        setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
        epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event);
        if (read(fds[i], request, sizeof request) <= 0 || send(fds[i], frame, (size_t)size, 0) != size)
            return 1;
    }
    double spent = 0;
    for (long round = 0; round < frames; round++) {
        struct epoll_event events[64];
        double before = cpu_seconds();
        for (long i = 0; i < count; i++) {
            if (i % 32 == 0)
                epoll_wait(epoll, events, 64, 0);
            if (send(fds[i], frame, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) != size)
                return 1;
        }
        spent += cpu_seconds() - before;
        struct timespec second = {1, 0};
        nanosleep(&second, NULL);
    }
    printf("%.3f\n", spent / (double)(frames * count) * 1e6);
    return 0;
}

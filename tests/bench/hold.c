/* Holds COUNT connections to 127.0.0.1:PORT: sends PATH's request on each, waits for the first bytes, prints "ready",
 * and reads and forgets everything until its standard input ends. With "deaf" it reads nothing after the first bytes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_one(int port, long number, const char *path)
{
    char request[1024];
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(0x7f000001u + (uint32_t)(number / 10000) + 1)};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096, on = 1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    if (bind(fd, (struct sockaddr *)&from, sizeof from) != 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return -1;
    int len =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n\r\n", path);
    return send(fd, request, (size_t)len, MSG_NOSIGNAL) == len ? fd : -1;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int port = (int)strtol(argv[1], NULL, 10), epoll = epoll_create1(0),
        deaf = argc > 4 && strcmp(argv[4], "deaf") == 0;
    long count = strtol(argv[2], NULL, 10), ready = 0, open = 0;
    char *seen = calloc(1 << 20, 1), bytes[65536];
    struct epoll_event events[256], event = {.events = EPOLLIN};
    if (!seen)
        return 1;
    event.data.fd = 0;
    epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event);
    while (1) {
        for (int i = 0; i < 64 && open < count && open - ready < 256; i++, open++) {
            int fd = open_one(port, open, argv[3]);
            if (fd < 0) {
                perror("connect");
                return 1;
            }
            event.data.fd = fd;
            epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
        }
        int n = epoll_wait(epoll, events, 256, open < count ? 1 : -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            ssize_t got = read(fd, bytes, deaf ? 1 : sizeof bytes);
            if (fd == 0 && got <= 0)
                return 0;
            if (got <= 0) {
                epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
                close(fd);
                continue;
            }
            if (fd != 0 && !seen[fd]) {
                seen[fd] = 1;
                if (++ready == count) {
                    printf("ready\n");
                    fflush(stdout);
                }
                if (deaf)
                    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
            }
        }
    }
}

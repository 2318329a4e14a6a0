/* COUNT visitors with a stream each, half at PORT_A and half at PORT_B. Whoever loses theirs comes back to PORT_B at
 * once, with the ticket; at the first loss EXTRA newcomers come there too, all from one address. "ready" when all have
 * a place, "back …" with the figures when all of COUNT have it again; at the end of standard input a line a visitor:
 * first ticket, last ticket, rises. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICKET_MAX 900
#define HEARD_MAX 4096
#define WINDOW 200   /* joins under way while the crowd gathers */
#define BURST 500    /* connects between two looks at what came */
#define AGAIN_MS 200 /* who was refused comes back after that, and as much at random */

struct visitor {
    int fd;
    int extra, asked, in, away; /* away: had a place and lost the stream */
    long position, rises, again_ms;
    size_t len;
    char first[TICKET_MAX], last[TICKET_MAX], heard[HEARD_MAX];
};

static struct visitor *visitors;
static long *outside, outsiders; /* whose stream is gone and who will come again */
static long count, extra, connects_2s, refused_own, refused_extra, lost_at_ms, ready, back, next_extra;
static int ports[2], loop;
static const char *session;

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void come(long number, int port)
{
    struct visitor *visitor = &visitors[number];
    int on = 1;
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(0x7f000100u + (uint32_t)(number / 5000) + 1)};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u64 = (uint64_t)number};
    visitor->len = 0;
    visitor->asked = visitor->in = 0;
    visitor->again_ms = 0;
    visitor->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(visitor->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (visitor->fd < 0 || bind(visitor->fd, (struct sockaddr *)&from, sizeof from) != 0 ||
        (connect(visitor->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS)) {
        perror("storm: connect");
        exit(1);
    }
    epoll_ctl(loop, EPOLL_CTL_ADD, visitor->fd, &event);
}

static void go(struct visitor *visitor)
{
    close(visitor->fd);
    visitor->fd = -1;
}

/* The stream or the attempt is over. */
static void ended(long number)
{
    struct visitor *visitor = &visitors[number];
    int refused = !visitor->in;
    go(visitor);
    if (visitor->extra) {
        refused_extra += refused;
        return;
    }
    outside[outsiders++] = number;
    if (refused) {
        refused_own++;
        visitor->again_ms = now_ms() + AGAIN_MS + rand() % AGAIN_MS;
        return;
    }
    if (!lost_at_ms)
        lost_at_ms = now_ms();
    visitor->away = 1;
    visitor->again_ms = now_ms();
}

static void ask(struct visitor *visitor)
{
    char text[2048];
    long number = visitor - visitors;
    visitor->asked = 1;
    connects_2s += lost_at_ms && now_ms() - lost_at_ms <= 2000;
    long address = visitor->extra ? 0xffffff : number + ((long)getpid() << 16);
    int len = snprintf(text, sizeof text,
                       "GET /api/queue/stream?sessionId=%s HTTP/1.0\r\nHost: x\r\nAccept: text/event-stream\r\n"
                       "X-Forwarded-For: 10.%ld.%ld.%ld\r\n%s%s%s\r\n",
                       session, address >> 16 & 255, address >> 8 & 255, address & 255,
                       visitor->last[0] ? "Last-Event-ID: " : "", visitor->last, visitor->last[0] ? "\r\n" : "");
    if (send(visitor->fd, text, (size_t)len, MSG_NOSIGNAL) != len)
        ended(number);
}

static void is_in(struct visitor *visitor)
{
    if (visitor->in)
        return;
    visitor->in = 1;
    if (visitor->extra)
        return;
    if (visitor->away)
        back++;
    else
        ready++;
    visitor->away = 0;
}

/* Frames as far as they are whole. */
static void listen_to(struct visitor *visitor)
{
    char *frame = visitor->heard, *end;
    while ((end = strstr(frame, "\n\n")) != NULL) {
        *end = '\0';
        char *id = strstr(frame, "\nid: "), *at = strstr(frame, "\"position\":");
        if (id) {
            snprintf(visitor->last, sizeof visitor->last, "%.*s", (int)strcspn(id + 5, "\r\n"), id + 5);
            if (!visitor->first[0])
                memcpy(visitor->first, visitor->last, sizeof visitor->first);
        }
        if (at) {
            long position = strtol(at + 11, NULL, 10);
            visitor->rises += visitor->position && position > visitor->position;
            visitor->position = position;
            is_in(visitor);
        }
        frame = end + 2;
    }
    visitor->len -= (size_t)(frame - visitor->heard);
    memmove(visitor->heard, frame, visitor->len + 1);
}

static void hear(long number)
{
    struct visitor *visitor = &visitors[number];
    while (visitor->fd >= 0) {
        ssize_t got = recv(visitor->fd, visitor->heard + visitor->len, sizeof visitor->heard - 1 - visitor->len, 0);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            ended(number);
            return;
        }
        visitor->len += (size_t)got;
        visitor->heard[visitor->len] = '\0';
        listen_to(visitor);
        if (visitor->len == sizeof visitor->heard - 1)
            visitor->len = 0;
    }
}

static long come_next(long begun)
{
    for (long i = 0; i < BURST && begun < count && begun - ready < WINDOW; i++, begun++)
        come(begun, ports[begun % 2]);
    for (long i = 0; i < BURST && lost_at_ms && next_extra < extra; i++, next_extra++) {
        visitors[count + next_extra].extra = 1;
        come(count + next_extra, ports[1]);
    }
    for (long i = 0, burst = 0, now = now_ms(); i < outsiders && burst < BURST;) {
        long number = outside[i];
        if (visitors[number].again_ms > now) {
            i++;
            continue;
        }
        outside[i] = outside[--outsiders];
        come(number, ports[1]);
        burst++;
    }
    return begun;
}

static void report(void)
{
    for (long number = 0; number < count; number++)
        printf("%s %s %ld\n", visitors[number].first, visitors[number].last, visitors[number].rises);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct epoll_event events[256], event = {.events = EPOLLIN, .data.u64 = UINT64_MAX};
    long begun = 0, was_ready = 0, was_back = 0, losers = 0;
    if (argc < 7)
        return 2;
    ports[0] = (int)strtol(argv[1], NULL, 10);
    ports[1] = (int)strtol(argv[2], NULL, 10);
    count = strtol(argv[3], NULL, 10);
    extra = strtol(argv[4], NULL, 10);
    session = argv[5];
    srand((unsigned)strtol(argv[6], NULL, 10));
    visitors = calloc((size_t)(count + extra), sizeof *visitors);
    outside = calloc((size_t)count, sizeof *outside);
    loop = epoll_create1(0);
    if (!visitors || !outside)
        return 1;
    for (long number = 0; number < count + extra; number++)
        visitors[number].fd = -1;
    epoll_ctl(loop, EPOLL_CTL_ADD, 0, &event);
    losers = (count + 1) / 2; /* those at PORT_A */
    while (1) {
        begun = come_next(begun);
        int n =
            epoll_wait(loop, events, 256, outsiders || begun < count || (lost_at_ms && next_extra < extra) ? 1 : -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 == UINT64_MAX) {
                report();
                return 0;
            }
            struct visitor *visitor = &visitors[events[i].data.u64];
            if (visitor->fd < 0)
                continue;
            if (events[i].events & EPOLLOUT && !visitor->asked)
                ask(visitor);
            if (visitor->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                hear((long)events[i].data.u64);
        }
        if (ready == count && !was_ready)
            was_ready = printf("ready\n") && fflush(stdout) == 0;
        if (lost_at_ms && back >= losers && !was_back)
            was_back = printf("back %ld %ld %ld %ld %ld\n", now_ms() - lost_at_ms, connects_2s, back, refused_own,
                              refused_extra) &&
                       fflush(stdout) == 0;
    }
}

#include "gateway/identity.h"

#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "gateway/network.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define IMDS_DEADLINE_MS 1000
#define ANSWER_MAX 4096

static bool imds_address(const char *url, struct sockaddr_in *to)
{
    struct text rest = text_of(url);
    struct address address;
    int64_t port = 80;
    if (!rest.at || !text_starts(rest, "http://"))
        return false;
    rest = (struct text){rest.at + 7, rest.len - 7};
    const char *colon = memchr(rest.at, ':', rest.len);
    if (colon && text_int((struct text){colon + 1, rest.len - (size_t)(colon + 1 - rest.at)}, 1, 65535, &port) != OK)
        return false;
    if (address_parse(rest, &address) != OK || !address_is_v4(&address))
        return false;
    *to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    memcpy(&to->sin_addr, address.bytes + 12, 4);
    return true;
}

static bool ready(int fd, short events, uint64_t deadline_ms)
{
    struct pollfd item = {.fd = fd, .events = events};
    uint64_t now = clock_mono_ms();
    return now < deadline_ms && poll(&item, 1, (int)(deadline_ms - now)) == 1;
}

/* One HTTP/1.0 exchange. BODY gets the text behind a 200's head. */
static bool imds_ask(const struct sockaddr_in *to, const char *request, uint64_t deadline_ms, char *body, size_t size)
{
    char answer[ANSWER_MAX];
    size_t len = 0, sent = 0;
    bool good = false;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (const struct sockaddr *)to, sizeof *to) != 0 && errno != EINPROGRESS)
        goto out;
    while (sent < strlen(request)) {
        ssize_t n =
            ready(fd, POLLOUT, deadline_ms) ? send(fd, request + sent, strlen(request) - sent, MSG_NOSIGNAL) : -1;
        if (n <= 0)
            goto out;
        sent += (size_t)n;
    }
    while (len < sizeof answer - 1) {
        ssize_t n = ready(fd, POLLIN, deadline_ms) ? read(fd, answer + len, sizeof answer - 1 - len) : -1;
        if (n < 0)
            goto out;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    answer[len] = '\0';
    const char *head_end = strstr(answer, "\r\n\r\n");
    if (head_end && len < sizeof answer - 1 && strncmp(answer, "HTTP/1.", 7) == 0 &&
        strncmp(answer + 8, " 200", 4) == 0)
        good = text_copy(body, size, text_trim(text_of(head_end + 4))) == OK;
out:
    close(fd);
    return good;
}

static bool is_visible(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static bool instance_id(const char *imds_url, char id[SERVER_ID_MAX + 1])
{
    struct sockaddr_in to;
    char token[512], request[1024];
    uint64_t deadline_ms = clock_mono_ms() + IMDS_DEADLINE_MS;
    if (!imds_address(imds_url, &to) ||
        !imds_ask(&to,
                  "PUT /latest/api/token HTTP/1.0\r\nHost: imds\r\nContent-Length: 0\r\n"
                  "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n\r\n",
                  deadline_ms, token, sizeof token) ||
        !token[0] || !is_visible(token))
        return false;
    snprintf(request, sizeof request,
             "GET /latest/meta-data/instance-id HTTP/1.0\r\nHost: imds\r\nX-aws-ec2-metadata-token: %s\r\n\r\n", token);
    return imds_ask(&to, request, deadline_ms, id, SERVER_ID_MAX + 1) && server_id_valid(text_of(id));
}

enum err identity_find(const char *option, const char *imds_url, char id[SERVER_ID_MAX + 1])
{
    struct text text = text_of(option);
    if (!text_is(text, "auto") && !text_starts(text, "auto:"))
        return server_id_valid(text) ? text_copy(id, SERVER_ID_MAX + 1, text) : ERR_INVALID;
    bool instance = instance_id(imds_url, id);
    if (!instance)
        entropy_uuid(id);
    log_event(LOG_INFO, "server-id", LOG_S("server", id), LOG_S("source", instance ? "imds" : "uuid"));
    if (text.len <= 5)
        return text.len == 4 ? OK : ERR_INVALID;
    size_t len = strlen(id);
    if (len + 1 + text.len - 5 > SERVER_ID_MAX)
        return ERR_INVALID;
    snprintf(id + len, SERVER_ID_MAX + 1 - len, "-%s", option + 5);
    return server_id_valid(text_of(id)) ? OK : ERR_INVALID;
}

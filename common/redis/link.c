#include "common/redis/dial.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/redis/tls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#define KEEPALIVE_S 15
#define USER_TIMEOUT_MS 15000
static enum err write_secure(struct redis_link *link);

void redis_link_fail(struct redis_link *link, const char *why)
{
    if (link->state == LINK_FAILED || link->state == LINK_CLOSED)
        return;
    link->state = LINK_FAILED;
    link->hooks->on_fail(link->data, why);
}

void redis_link_let_go(struct redis_link *link)
{
    CHECK(link->held > 0);
    if (--link->held > 0 || link->state != LINK_CLOSED)
        return;
    void (*closed)(void *data) = link->closed;
    void *data = link->data;
    uv_freeaddrinfo(link->addresses);
    redis_tls_destroy(link->tls);
    buf_finish(&link->pending);
    free(link);
    closed(data);
}

static void on_written(uv_write_t *write, int status)
{
    struct redis_link *link = write->data;
    link->is_writing = false;
    link->pending.len = 0;
    if (link->state == LINK_CLOSED || link->state == LINK_FAILED)
        return;
    if (status < 0)
        redis_link_fail(link, uv_strerror(status));
    else if (link->tls && write_secure(link) != OK)
        redis_link_fail(link, "TLS: could not send");
    else if (redis_link_writable(link))
        link->hooks->on_drain(link->data);
}

static enum err write_pending(struct redis_link *link)
{
    uv_buf_t bytes = uv_buf_init(link->pending.data, (unsigned)link->pending.len);
    link->write.data = link;
    if (uv_write(&link->write, &link->socket.stream, &bytes, 1, on_written) != 0)
        return ERR_IO;
    link->is_writing = true;
    return OK;
}

/* The kernel first; only what it does not take costs a request. */
static enum err write_now(struct redis_link *link, const char *bytes, size_t len, size_t *written)
{
    uv_buf_t piece = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)len);
    int result = uv_try_write(&link->socket.stream, &piece, 1);
    *written = result > 0 ? (size_t)result : 0;
    return result >= 0 || result == UV_EAGAIN ? OK : ERR_IO;
}

static enum err write_plain(struct redis_link *link, const char *bytes, size_t len)
{
    size_t written;
    enum err err = write_now(link, bytes, len, &written);
    if (err != OK || written == len)
        return err;
    err = buf_append(&link->pending, bytes + written, len - written);
    return err == OK ? write_pending(link) : err;
}

/* While a write is under way the ciphertext waits in the TLS session; its end brings us back. */
static enum err write_secure(struct redis_link *link)
{
    size_t waiting = redis_tls_waiting(link->tls), written;
    if (link->is_writing || waiting == 0)
        return OK;
    CHECK(link->pending.len == 0);
    enum err err = buf_reserve(&link->pending, waiting);
    if (err != OK)
        return err;
    link->pending.len = redis_tls_take(link->tls, link->pending.data, waiting);
    err = write_now(link, link->pending.data, link->pending.len, &written);
    if (err != OK)
        return err;
    buf_consume(&link->pending, written);
    return link->pending.len ? write_pending(link) : OK;
}

static void secure_step(struct redis_link *link)
{
    char why[192] = "";
    bool done = false;
    enum err err = redis_tls_handshake(link->tls, &done, why, sizeof why);
    enum err sent = write_secure(link); /* an alert too should reach the peer */
    if (err != OK || sent != OK) {
        redis_link_fail(link, err != OK ? why : "TLS: the handshake could not be sent");
    } else if (done) {
        link->state = LINK_OPEN;
        link->hooks->on_open(link->data);
    }
}

static void read_secure(struct redis_link *link, const char *bytes, size_t len)
{
    if (redis_tls_feed(link->tls, bytes, len) != OK) {
        redis_link_fail(link, "TLS: out of memory");
        return;
    }
    if (link->state == LINK_SECURING)
        secure_step(link);
    while (link->state == LINK_OPEN) {
        size_t got;
        enum err err = redis_tls_read(link->tls, link->plain, sizeof link->plain, &got);
        if (err != OK)
            redis_link_fail(link, err == ERR_LOST ? "closed by the peer" : "TLS: broken session");
        else if (got == 0)
            break;
        else
            link->hooks->on_bytes(link->data, link->plain, got);
    }
    /* Reading may have made TLS answer (a key update). */
    if (link->state == LINK_OPEN && write_secure(link) != OK)
        redis_link_fail(link, "TLS: could not send");
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    (void)wanted;
    struct redis_link *link = handle->data;
    *buf = uv_buf_init(link->from_wire, sizeof link->from_wire);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct redis_link *link = stream->data;
    if (link->state == LINK_CLOSED || link->state == LINK_FAILED || got == 0)
        return;
    if (got < 0)
        redis_link_fail(link, got == UV_EOF ? "closed by the peer" : uv_strerror((int)got));
    else if (link->tls)
        read_secure(link, buf->base, (size_t)got);
    else
        link->hooks->on_bytes(link->data, buf->base, (size_t)got);
}

static void on_socket_closed(uv_handle_t *handle)
{
    redis_link_let_go(handle->data);
}

static void tune_socket(struct redis_link *link)
{
    unsigned timeout_ms = USER_TIMEOUT_MS;
    uv_os_fd_t fd;
    if (link->url->path[0])
        return;
    /* Each is an improvement only: a socket that refuses one still works. */
    uv_tcp_nodelay(&link->socket.tcp, 1);
    uv_tcp_keepalive(&link->socket.tcp, 1, KEEPALIVE_S);
    if (uv_fileno(&link->socket.handle, &fd) == 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

void redis_link_established(struct redis_link *link)
{
    tune_socket(link);
    int result = uv_read_start(&link->socket.stream, on_room, on_read);
    if (result != 0) {
        redis_link_fail(link, uv_strerror(result));
    } else if (!link->url->tls) {
        link->state = LINK_OPEN;
        link->hooks->on_open(link->data);
    } else if (redis_tls_create(&link->tls, link->url->host, link->url->ca_file, link->why, sizeof link->why) != OK) {
        redis_link_fail(link, link->why);
    } else {
        link->state = LINK_SECURING;
        secure_step(link);
    }
}

enum err redis_link_open(struct redis_link **out, uv_loop_t *loop, const struct redis_url *url, uint32_t timeout_ms,
                         const struct redis_link_hooks *hooks, void *data)
{
    struct redis_link *link = calloc(1, sizeof *link);
    if (!link)
        return ERR_NOMEM;
    link->loop = loop;
    link->url = url;
    link->hooks = hooks;
    link->data = data;
    link->timeout_ms = timeout_ms;
    buf_init(&link->pending, SIZE_MAX / 4); /* the sender bounds what it sends */
    if (url->path[0]) {
        redis_dial_pipe(link);
    } else if (redis_dial(link) != OK) {
        free(link);
        return ERR_IO;
    }
    int result = uv_timer_init(loop, &link->attempt_timer);
    CHECK(result == 0);
    link->attempt_timer.data = link;
    link->held++;
    *out = link;
    return OK;
}

bool redis_link_writable(const struct redis_link *link)
{
    return link->state == LINK_OPEN && !link->is_writing;
}

enum err redis_link_send(struct redis_link *link, const char *bytes, size_t len)
{
    CHECK(redis_link_writable(link));
    if (!link->tls)
        return write_plain(link, bytes, len);
    enum err err = redis_tls_write(link->tls, bytes, len);
    return err == OK ? write_secure(link) : err;
}

void redis_link_close(struct redis_link *link, void (*closed)(void *data))
{
    CHECK(link->state != LINK_CLOSED);
    link->state = LINK_CLOSED;
    link->closed = closed;
    if (link->is_resolving)
        uv_cancel((uv_req_t *)&link->resolving); /* where it is too late, its callback finds us closed */
    if (link->has_socket && !uv_is_closing(&link->socket.handle))
        uv_close(&link->socket.handle, on_socket_closed);
    uv_close((uv_handle_t *)&link->attempt_timer, on_socket_closed);
}

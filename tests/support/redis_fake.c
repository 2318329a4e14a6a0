#include "tests/support/redis_fake.h"

#include "common/base/check.h"
#include "common/base/text.h"

#include <arpa/inet.h>
#include <ctype.h>

struct fake_connection {
    uv_tcp_t tcp;
    struct redis_fake *fake;
    struct fake_connection *next;
    unsigned number;
    size_t len;
    char bytes[262144];
};

/* One write: owns its bytes; slow ones send a byte, then the next. */
struct fake_write {
    uv_write_t request;
    struct fake_connection *connection;
    enum fake_then then;
    size_t at, len;
    char bytes[];
};

static void on_closed(uv_handle_t *handle)
{
    struct fake_connection *connection = handle->data;
    struct fake_connection **link = &connection->fake->connections;
    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    connection->fake->open--;
    free(connection);
}

static void close_connection(struct fake_connection *connection, bool reset)
{
    if (uv_is_closing((uv_handle_t *)&connection->tcp))
        return;
    if (!reset || uv_tcp_close_reset(&connection->tcp, on_closed) != 0)
        uv_close((uv_handle_t *)&connection->tcp, on_closed);
}

static void on_written(uv_write_t *request, int status);

static void write_next(struct fake_write *write)
{
    size_t len = write->then == FAKE_SLOWLY ? 1 : write->len - write->at;
    uv_buf_t piece = uv_buf_init(write->bytes + write->at, (unsigned)len);
    write->at += len;
    write->request.data = write;
    int result = uv_write(&write->request, (uv_stream_t *)&write->connection->tcp, &piece, 1, on_written);
    CHECK(result == 0);
}

static void on_written(uv_write_t *request, int status)
{
    struct fake_write *write = request->data;
    if (status == 0 && write->at < write->len) {
        write_next(write);
        return;
    }
    if (write->then == FAKE_CLOSE || write->then == FAKE_RESET)
        close_connection(write->connection, write->then == FAKE_RESET);
    free(write);
}

static void answer(struct fake_connection *connection, const char *bytes, size_t len, enum fake_then then)
{
    if (uv_is_closing((uv_handle_t *)&connection->tcp))
        return;
    if (len == 0) {
        if (then == FAKE_CLOSE || then == FAKE_RESET)
            close_connection(connection, then == FAKE_RESET);
        return;
    }
    struct fake_write *write = reallocarray(NULL, 1, sizeof *write + len); /* which nomem.h lets alone */
    CHECK(write);
    *write = (struct fake_write){.connection = connection, .then = then, .len = len};
    memcpy(write->bytes, bytes, len);
    write_next(write);
}

static void play(struct fake_connection *connection, struct text word)
{
    struct redis_fake *fake = connection->fake;
    size_t used = strlen(fake->seen);
    snprintf(fake->seen + used, sizeof fake->seen - used, "%.*s ", (int)word.len, word.at);
    for (size_t i = 0; i < fake->rule_count; i++) {
        const struct fake_rule *rule = &fake->rules[i];
        if (text_is(word, rule->command) && (rule->connection == 0 || rule->connection == connection->number)) {
            answer(connection, rule->answer, strlen(rule->answer), rule->then);
            return;
        }
    }
    struct text usual = text_is(word, "PING") ? TEXT("+PONG\r\n") : TEXT("+OK\r\n");
    answer(connection, usual.at, usual.len, FAKE_STAY);
}

/* "*2\r\n" at *AT gives 2; false while it is not whole. */
static bool number_at(const struct fake_connection *connection, size_t *at, size_t *number)
{
    const char *start = connection->bytes + *at, *end = memchr(start, '\n', connection->len - *at);
    if (!end)
        return false;
    *number = strtoul(start + 1, NULL, 10);
    *at = (size_t)(end - connection->bytes) + 1;
    return true;
}

/* The length of the first whole command, its first word in WORD; 0 while there is none. */
static size_t next_command(const struct fake_connection *connection, struct text *word)
{
    size_t at = 0, argc, len;
    if (!number_at(connection, &at, &argc))
        return 0;
    for (size_t i = 0; i < argc; i++) {
        if (at >= connection->len || !number_at(connection, &at, &len) || connection->len - at < len + 2)
            return 0;
        if (i == 0)
            *word = (struct text){connection->bytes + at, len};
        at += len + 2;
    }
    return at;
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    struct fake_connection *connection = handle->data;
    (void)wanted;
    *buf = uv_buf_init(connection->bytes + connection->len, (unsigned)(sizeof connection->bytes - connection->len));
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct fake_connection *connection = stream->data;
    struct text word = {NULL, 0};
    (void)buf;
    if (got < 0) {
        close_connection(connection, false);
        return;
    }
    connection->len += (size_t)got;
    for (size_t len; connection->len > 0 && (len = next_command(connection, &word)) > 0;) {
        play(connection, word);
        connection->len -= len;
        memmove(connection->bytes, connection->bytes + len, connection->len);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct redis_fake *fake = listener->data;
    struct fake_connection *connection = reallocarray(NULL, 1, sizeof *connection); /* which nomem.h lets alone */
    CHECK(status == 0 && connection);
    memset(connection, 0, sizeof *connection);
    uv_tcp_init(listener->loop, &connection->tcp);
    connection->tcp.data = connection;
    connection->fake = fake;
    connection->number = ++fake->accepted;
    connection->next = fake->connections;
    fake->connections = connection;
    fake->open++;
    int result = uv_accept(listener, (uv_stream_t *)&connection->tcp);
    CHECK(result == 0);
    uv_tcp_nodelay(&connection->tcp, 1);
    uv_read_start((uv_stream_t *)&connection->tcp, on_room, on_read);
}

void redis_fake_start(struct redis_fake *fake, uv_loop_t *loop, const struct fake_rule *rules, size_t rule_count)
{
    struct sockaddr_in address;
    int size = sizeof address;
    CHECK(rule_count <= FAKE_RULES_MAX);
    *fake = (struct redis_fake){.rule_count = rule_count};
    if (rule_count)
        memcpy(fake->rules, rules, rule_count * sizeof *rules);
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(loop, &fake->listener);
    fake->listener.data = fake;
    int result = uv_tcp_bind(&fake->listener, (const struct sockaddr *)&address, 0);
    CHECK(result == 0);
    result = uv_listen((uv_stream_t *)&fake->listener, 16, on_connection);
    CHECK(result == 0);
    uv_tcp_getsockname(&fake->listener, (struct sockaddr *)&address, &size);
    snprintf(fake->url, sizeof fake->url, "redis://127.0.0.1:%d", ntohs(address.sin_port));
}

void redis_fake_say(struct redis_fake *fake, const char *bytes, size_t len)
{
    CHECK(fake->connections);
    answer(fake->connections, bytes, len, FAKE_STAY);
}

void redis_fake_stop_listening(struct redis_fake *fake)
{
    if (!uv_is_closing((uv_handle_t *)&fake->listener))
        uv_close((uv_handle_t *)&fake->listener, NULL);
}

void redis_fake_stop(struct redis_fake *fake)
{
    redis_fake_stop_listening(fake);
    for (struct fake_connection *connection = fake->connections; connection; connection = connection->next)
        close_connection(connection, false);
}

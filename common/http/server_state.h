/** The server's inside, shared by its listeners, connections and answers. */
#ifndef ANTEROOM_HTTP_SERVER_STATE_H
#define ANTEROOM_HTTP_SERVER_STATE_H

#include "common/base/list.h"
#include "common/base/wheel.h"
#include "common/http/server.h"

#include <uv.h>

struct connection;

#define SERVER_TICK_MS 50
#define SERVER_READ_BYTES 65536
#define SERVER_LINGER_MS 2000
#define SERVER_LINGER_BYTES_MAX 1048576
#define SERVER_OVERFLOW_MS 2000
#define SERVER_SLICE 32 /* requests and newcomers between two polls */

struct http_server {
    struct http_settings settings;
    uv_timer_t timer;
    struct wheel wheel;
    struct list connections, listeners;
    /* Connections whose request waits for its turn, so that neither a long pipeline nor a thousand newcomers at once
     * keep the loop from everything else. */
    struct list queue;
    uv_idle_t idle;  /* active while anybody waits for a turn: the loop then polls without waiting */
    unsigned begun;  /* requests and newcomers taken since the last turn */
    size_t handles;  /* the timer, the idle, listeners and connections whose close callback is still to come */
    size_t open;     /* connections, those over the cap apart */
    size_t overflow; /* connections over the cap, waiting for their refusal */
    uint64_t sent_bytes;
    int64_t date_s; /* the second DATE is about */
    char date[40];
    int spare_fd; /* given up for a moment to turn a newcomer away when descriptors run out */
    bool draining, closing;
    void (*done)(void *data);
    void *done_data;
    char read_buffer[SERVER_READ_BYTES]; /* one for all: a read's bytes are used up before the next */
};

/** Starts the timer if it rests. */
void server_wake(struct http_server *server);
/** Whether one more request or newcomer may be taken before the loop looks at everything else. */
bool server_has_time(struct http_server *server);
/** Goes on with those who wait in the loop's next turn. */
void server_later(struct http_server *server);
/** LINK, a connection's, waits for its turn. */
void server_queue(struct http_server *server, struct list *link);
/** A handle is closed; the last one ends the server. */
void server_handle_closed(struct http_server *server);
/** How many connections over the cap may wait for their refusal at once. */
size_t server_overflow_max(const struct http_server *server);
/** "Date" as HTTP wants it. */
const char *server_date(struct http_server *server);

/** Tries listeners again that could not take a newcomer for want of time or memory; true if one waits for memory. */
bool listeners_retry(struct http_server *server);
void listeners_close(struct http_server *server);

#endif

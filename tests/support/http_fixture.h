/** A server on loopback, its loop, and raw clients driven from the same thread. Nothing sleeps: the loop is polled. */
#ifndef ANTEROOM_TESTS_HTTP_FIXTURE_H
#define ANTEROOM_TESTS_HTTP_FIXTURE_H

#include "common/base/buf.h"
#include "common/http/request.h"
#include "common/http/response.h"
#include "common/http/server.h"
#include "common/http/stream.h"

#include <uv.h>

struct http_fixture {
    uv_loop_t loop;
    struct http_server *server;
    struct http_settings settings;
    char bound[64];
    bool closed;
    /* What the handlers and callbacks saw. */
    struct http_request *later; /* the last GET /later, not answered yet */
    int laters, gone, done_calls, last_status, drained, stream_ends;
    char last_route[32], last_reason[32], last_id[130];
    struct http_stream *stream;
};

struct http_client {
    int fd;
    struct buf in;
    bool ended; /* FIN or reset */
    bool reset;
};

/** One answer at the start of some bytes. */
struct http_answer {
    int status;
    size_t len; /* of head and body */
    struct text head, body;
};

/** Default settings and routes: GET+HEAD /hello, POST/PUT/PATCH/DELETE /echo, GET /later, /big (1 MiB), /items/{item},
 *  /stream (kept open; HTTP frames are sent by the test). */
void http_fixture_init(struct http_fixture *fixture);
void http_fixture_start(struct http_fixture *fixture);
/** Closes the server unless it is, runs the loop empty and checks that nothing is left in it. */
void http_fixture_finish(struct http_fixture *fixture);
void http_fixture_close_server(struct http_fixture *fixture);

/** RECEIVE_BUFFER 0: the system's. */
void http_client_open(struct http_client *client, struct http_fixture *fixture, int receive_buffer);
void http_client_send(struct http_client *client, struct text bytes);
void http_client_say(struct http_client *client, const char *string);
/** Takes what has come. */
void http_client_read(struct http_client *client);
void http_client_close(struct http_client *client);

/** Lets everything run that can without waiting, in as many turns as it takes: newer libuv takes one newcomer a turn,
 * older all that wait. */
void http_run(struct http_fixture *fixture, struct http_client *client);
/** Runs until DONE says so; false after five seconds. CLIENT may be NULL; it is read unless NULL. */
bool http_run_until(struct http_fixture *fixture, struct http_client *client, bool (*done)(void *data), void *data);
/** Until a whole answer is there (its length known, or the connection at its end), and takes it off; fails the test
 *  otherwise. The texts point into the client's buffer until http_answer_drop. HEAD: no body follows. */
struct http_answer http_expect(struct http_fixture *fixture, struct http_client *client, bool head);
void http_answer_drop(struct http_client *client, const struct http_answer *answer);
/** Until the connection is at its end; fails the test otherwise. */
void http_expect_end(struct http_fixture *fixture, struct http_client *client);
/** A header's value in an answer; {NULL, 0} when absent. */
struct text http_answer_header(const struct http_answer *answer, const char *name);
/** Runs until *FLAG is at least WANTED; fails the test otherwise. */
void http_expect_count(struct http_fixture *fixture, struct http_client *client, const int *counter, int wanted);
bool text_contains(struct text text, const char *part);

#endif

/** An answer that goes on: Server-Sent Events. The request's parser and buffers are given back when a stream opens, so
 *  an open stream costs one connection struct and nothing else. HTTP/1.1 answers are chunked, HTTP/1.0 ones end with
 *  the connection. Bytes the client sends meanwhile are thrown away, and the connection ends with the stream then. */
#ifndef ANTEROOM_HTTP_STREAM_H
#define ANTEROOM_HTTP_STREAM_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_request;
struct http_stream;

/** Static table of the stream's owner. DATA is what http_stream_open was given. */
struct http_stream_owner {
    /** Everything queued has been written: the next frame may be sent. Called only after HTTP_QUEUED or HTTP_BUSY. */
    void (*on_drain)(void *data);
    /** The client went away, stalled, or the server closes. Once; the stream is dead. Not called after
     * http_stream_finish. */
    void (*on_closed)(void *data, const char *reason);
};

enum http_sent {
    HTTP_SENT,   /* wholly with the kernel */
    HTTP_QUEUED, /* taken; part of it waits here for the socket; on_drain follows */
    HTTP_BUSY,   /* not taken, as an earlier frame still waits; on_drain follows */
    HTTP_BROKEN, /* not taken; on_closed follows later from the loop */
};

/** Writable bytes a frame's caller must leave before and after the payload: the chunk framing goes there, so that one
 *  contiguous send carries all. */
#define HTTP_FRAME_RESERVE 8
#define HTTP_FRAME_MAX 4095

/** Answers 200 with TYPE and HEADERS (lines ending in CRLF, or NULL) and the FIRST frame (with its reserve; LEN may be
 * 0) in one send. Consumes the request. NULL when memory is short: the request was answered 503 then. */
struct http_stream *http_stream_open(struct http_request *request, const char *type, const char *headers, char *first,
                                     size_t len, const struct http_stream_owner *owner, void *data);
/** One frame, LEN ≤ HTTP_FRAME_MAX, with its reserve before and after (overwritten, then restored is NOT promised). */
enum http_sent http_stream_send(struct http_stream *stream, char *frame, size_t len);
/** The last frame (LEN may be 0) and the end of the answer, behind whatever waits; always taken. The owner is detached:
 *  no callback follows, the stream must not be touched. */
void http_stream_finish(struct http_stream *stream, char *frame, size_t len);
/** Drops the connection at once (a client that makes no progress). Detaches the owner; no callback follows. */
void http_stream_abort(struct http_stream *stream);
bool http_stream_busy(const struct http_stream *stream);

#endif

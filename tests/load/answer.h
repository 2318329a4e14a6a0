/** The client's side of HTTP and Server-Sent Events, as much as a load client needs: status, headers it looks at,
 * chunked or plain bodies, events. Pure; fed with whatever arrives. */
#ifndef ANTEROOM_LOAD_ANSWER_H
#define ANTEROOM_LOAD_ANSWER_H

#include "common/base/buf.h"
#include "common/base/text.h"

#include <stdbool.h>

#define ANSWER_LINE_MAX 8192

/** One event. Texts are borrowed for the call. */
struct event {
    struct text name, data, id; /* id {NULL,0}: the event had none */
    int64_t retry_ms;           /* -1: none */
};

struct answer {
    enum { ANSWER_HEAD, ANSWER_SIZE, ANSWER_BODY, ANSWER_BODY_END, ANSWER_TRAILER, ANSWER_DONE, ANSWER_BROKEN } state;
    int status;
    bool chunked, events;
    size_t left; /* of the body or chunk; SIZE_MAX: until the end of the connection */
    struct buf framing, line, body, name, data, id;
    bool has_id;
    int64_t retry_ms;
    void (*on_event)(void *data, const struct event *event);
    void *context;
};

void answer_init(struct answer *answer, void (*on_event)(void *data, const struct event *event), void *context);
void answer_finish(struct answer *answer);
/** ANSWER_DONE: whole; ANSWER_BROKEN: not understood. The body of an answer that is no event stream is in BODY. */
void answer_feed(struct answer *answer, const char *bytes, size_t len);

#endif

/** How answers are put on the wire, for http_respond, streams and refusals alike. */
#ifndef ANTEROOM_HTTP_ANSWER_H
#define ANTEROOM_HTTP_ANSWER_H

#include "common/base/buf.h"
#include "common/http/response.h"

struct connection;
struct http_request;

#define ANSWER_BYTES_MAX (64u << 20)
#define ANSWER_EXTRA_BYTES_MAX 1024

enum answer_framing {
    ANSWER_LENGTH,  /* Content-Length */
    ANSWER_CHUNKED, /* Transfer-Encoding: chunked */
    ANSWER_TO_END,  /* until the connection ends */
};

/** The status line and all header lines, the empty one too. KEEP: the connection goes on afterwards. */
MUST_CHECK enum err answer_head(struct buf *out, struct http_request *request, const struct http_response *response,
                                enum answer_framing framing, bool keep);
/** May the connection go on after an answer that does not itself ask for the end? */
bool answer_keeps(const struct http_request *request);
/** Tells the server's owner about the request (on_done). */
void answer_done(const struct http_request *request, int status);
/** The reason phrase, "Unknown" for statuses not used here. */
const char *answer_reason(int status);
/** The problem as JSON. */
MUST_CHECK enum err problem_write(struct buf *out, const struct http_problem *problem, const char *request_id);
/** The refusal of a connection over the cap: 503, or for an EventSource 200 with retry and an unavailable event. */
void overflow_respond(struct http_request *request);

#endif

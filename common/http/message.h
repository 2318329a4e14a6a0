/** One request's bytes through llhttp, and its body. The header block has passed head_step before; llhttp is the second
 *  opinion on it and the decoder of the body, and gets exactly one message: where that ends is found out here. */
#ifndef ANTEROOM_HTTP_MESSAGE_H
#define ANTEROOM_HTTP_MESSAGE_H

#include "common/base/buf.h"
#include "common/http/chunks.h"
#include "common/http/head.h"

#include <llhttp.h>

struct message {
    llhttp_t parser;
    struct chunks chunks;
    struct buf body;
    uint64_t left; /* of a body with Content-Length */
    bool chunked, complete, no_memory;
};

enum message_state { MESSAGE_MORE, MESSAGE_DONE, MESSAGE_REFUSED, MESSAGE_NOMEM };

void message_init(struct message *message);
void message_finish(struct message *message);
/** The checked block at BYTES. */
enum message_state message_head(struct message *message, const struct head *head, const char *bytes,
                                enum http_refusal *refusal);
/** Body bytes; takes those that are the body's off *IN. */
enum message_state message_body(struct message *message, struct text *in, enum http_refusal *refusal);

#endif

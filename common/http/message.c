#include "common/http/message.h"

/* Upgrades are not done here: without this llhttp would stop at the end of a message that asks for one. */
static int headers_complete(llhttp_t *parser)
{
    parser->upgrade = 0;
    return 0;
}

static int body_bytes(llhttp_t *parser, const char *at, size_t len)
{
    struct message *message = parser->data;
    if (buf_append(&message->body, at, len) == OK)
        return 0;
    message->no_memory = true;
    return HPE_USER;
}

static int message_complete(llhttp_t *parser)
{
    struct message *message = parser->data;
    message->complete = true;
    return 0;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = headers_complete,
    .on_body = body_bytes,
    .on_message_complete = message_complete,
};

void message_init(struct message *message)
{
    *message = (struct message){0};
    buf_init(&message->body, HTTP_BODY_MAX);
    chunks_init(&message->chunks);
    llhttp_init(&message->parser, HTTP_REQUEST, &settings);
    message->parser.data = message;
}

void message_finish(struct message *message)
{
    buf_finish(&message->body);
}

/* llhttp must agree on where the message ends. */
static enum message_state feed(struct message *message, const char *bytes, size_t len, bool last,
                               enum http_refusal *refusal)
{
    enum llhttp_errno error = llhttp_execute(&message->parser, bytes, len);
    if (message->no_memory)
        return MESSAGE_NOMEM;
    if (error != HPE_OK || message->complete != last) {
        *refusal = message->chunked ? REFUSE_CHUNK : REFUSE_PARSER;
        return MESSAGE_REFUSED;
    }
    return last ? MESSAGE_DONE : MESSAGE_MORE;
}

enum message_state message_head(struct message *message, const struct head *head, const char *bytes,
                                enum http_refusal *refusal)
{
    message->left = head->body_len;
    enum message_state state = feed(message, bytes, head->len, !head_has_body(head), refusal);
    message->chunked = head->chunked;
    return state;
}

enum message_state message_body(struct message *message, struct text *in, enum http_refusal *refusal)
{
    enum http_refusal bad = REFUSE_NOT;
    size_t take = in->len < message->left ? in->len : (size_t)message->left;
    if (message->chunked)
        take = chunks_step(&message->chunks, in->at, in->len, &bad);
    message->left -= message->chunked ? 0 : take;
    bool last = message->chunked ? chunks_done(&message->chunks) : message->left == 0;
    enum message_state state = take ? feed(message, in->at, take, last, refusal) : MESSAGE_MORE;
    in->at += take;
    in->len -= take;
    if (state == MESSAGE_MORE &&
        bad != REFUSE_NOT) { /* after what came before the bad byte: any cut gives this verdict */
        *refusal = bad;
        state = MESSAGE_REFUSED;
    }
    return state;
}

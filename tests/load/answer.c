#include "tests/load/answer.h"

#include <stdint.h>

void answer_init(struct answer *answer, void (*on_event)(void *data, const struct event *event), void *context)
{
    *answer = (struct answer){.retry_ms = -1, .on_event = on_event, .context = context, .left = SIZE_MAX};
    buf_init(&answer->framing, ANSWER_LINE_MAX);
    buf_init(&answer->line, ANSWER_LINE_MAX);
    buf_init(&answer->body, 65536);
    buf_init(&answer->name, 64);
    buf_init(&answer->data, ANSWER_LINE_MAX);
    buf_init(&answer->id, ANSWER_LINE_MAX);
}

void answer_finish(struct answer *answer)
{
    buf_finish(&answer->framing);
    buf_finish(&answer->line);
    buf_finish(&answer->body);
    buf_finish(&answer->name);
    buf_finish(&answer->data);
    buf_finish(&answer->id);
}

static void keep(struct answer *answer, struct buf *buf, struct text text)
{
    buf->len = 0;
    if (buf_text(buf, text) != OK)
        answer->state = ANSWER_BROKEN;
}

/* ---- events: WHATWG HTML, "Interpreting an event stream" ---- */

static void event_dispatch(struct answer *answer)
{
    struct event event = {buf_view(&answer->name), buf_view(&answer->data), {NULL, 0}, answer->retry_ms};
    if (answer->has_id)
        event.id = answer->id.len ? buf_view(&answer->id) : TEXT("");
    answer->on_event(answer->context, &event);
    answer->name.len = answer->data.len = 0;
    answer->has_id = false;
    answer->retry_ms = -1;
}

static void event_line(struct answer *answer, struct text line)
{
    struct text value = line, field;
    int64_t retry_ms;
    if (line.len == 0) {
        event_dispatch(answer);
        return;
    }
    if (!text_next(&value, ':', &field) || field.len == 0)
        return;
    if (value.len && value.at[0] == ' ')
        value = (struct text){value.at + 1, value.len - 1};
    if (text_is(field, "event"))
        keep(answer, &answer->name, value);
    else if (text_is(field, "data"))
        keep(answer, &answer->data, value);
    else if (text_is(field, "id")) {
        keep(answer, &answer->id, value);
        answer->has_id = true;
    } else if (text_is(field, "retry") && text_int(value, 0, INT64_MAX, &retry_ms) == OK)
        answer->retry_ms = retry_ms;
}

static void body_byte(struct answer *answer, char byte)
{
    if (!answer->events) {
        if (buf_append(&answer->body, &byte, 1) != OK)
            answer->state = ANSWER_BROKEN;
    } else if (byte == '\n') {
        struct text line = buf_view(&answer->line);
        event_line(answer, line);
        answer->line.len = 0;
    } else if (buf_append(&answer->line, &byte, 1) != OK) {
        answer->state = ANSWER_BROKEN;
    }
}

/* ---- HTTP ---- */

static void head_line(struct answer *answer, struct text line)
{
    struct text rest = line, name, value;
    int64_t number;
    if (answer->status == 0) {
        if (line.len < 12 || !text_starts(line, "HTTP/1.") ||
            text_int((struct text){line.at + 9, 3}, 100, 599, &number) != OK)
            answer->state = ANSWER_BROKEN;
        else
            answer->status = (int)number;
        return;
    }
    if (line.len == 0) {
        answer->state = answer->status == 204 || answer->left == 0 ? ANSWER_DONE
                        : answer->chunked                          ? ANSWER_SIZE
                                                                   : ANSWER_BODY;
        return;
    }
    text_next(&rest, ':', &name);
    value = text_trim(rest);
    if (text_equal_nocase(name, TEXT("Transfer-Encoding")))
        answer->chunked = text_equal_nocase(value, TEXT("chunked"));
    else if (text_equal_nocase(name, TEXT("Content-Type")))
        answer->events = text_starts(value, "text/event-stream");
    else if (text_equal_nocase(name, TEXT("Content-Length")) && text_int(value, 0, INT32_MAX, &number) == OK)
        answer->left = (size_t)number;
}

static void size_line(struct answer *answer, struct text line)
{
    size_t size = 0;
    for (size_t i = 0; i < line.len; i++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, line.at[i] | 0x20);
        if (!digit || !line.at[i] || size > 1u << 24) {
            answer->state = ANSWER_BROKEN;
            return;
        }
        size = size * 16 + (size_t)(digit - digits);
    }
    answer->left = size;
    answer->state = size ? ANSWER_BODY : ANSWER_TRAILER;
}

/* A byte of HTTP's own lines, which end in CRLF. */
static void framing_byte(struct answer *answer, char byte)
{
    if (byte != '\n') {
        if (buf_append(&answer->framing, &byte, 1) != OK)
            answer->state = ANSWER_BROKEN;
        return;
    }
    struct text line = buf_view(&answer->framing);
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    if (answer->state == ANSWER_HEAD)
        head_line(answer, line);
    else if (answer->state == ANSWER_SIZE)
        size_line(answer, line);
    else if (answer->state == ANSWER_BODY_END)
        answer->state = ANSWER_SIZE;
    else if (answer->state == ANSWER_TRAILER)
        answer->state = ANSWER_DONE;
    answer->framing.len = 0;
}

void answer_feed(struct answer *answer, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && answer->state != ANSWER_DONE && answer->state != ANSWER_BROKEN; i++) {
        if (answer->state != ANSWER_BODY) {
            framing_byte(answer, bytes[i]);
            continue;
        }
        body_byte(answer, bytes[i]);
        if (answer->state == ANSWER_BODY && answer->left != SIZE_MAX && --answer->left == 0)
            answer->state = answer->chunked ? ANSWER_BODY_END : ANSWER_DONE;
    }
}

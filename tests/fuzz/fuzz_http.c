/* Bytes of a connection. However they are cut, the same requests come out, and the same refusal; what is taken for a
 * request has one Host, one way to tell its length, and nothing in its texts that a line could end with. */
#include "tests/fuzz/fuzz.h"

#include "common/http/head.h"
#include "common/http/message.h"

#include <stdlib.h>

/* What came of the bytes, as bytes. */
struct story {
    struct buf told;
    struct head head;
    struct message message;
    struct buf block;
    bool in_body, over;
};

static void tell(struct story *story, const char *what, struct text text)
{
    CHECK(buf_format(&story->told, "%s %zu ", what, text.len) == OK && buf_text(&story->told, text) == OK);
}

static void refuse(struct story *story, enum http_refusal refusal)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)refusal);
    tell(story, "refused", text_of(number));
    story->over = true;
}

static void next_request(struct story *story)
{
    buf_finish(&story->block);
    message_finish(&story->message);
    head_init(&story->head);
    message_init(&story->message);
    story->in_body = false;
}

static void done(struct story *story)
{
    tell(story, "body", buf_view(&story->message.body));
    story->over = story->head.close || story->head.minor == 0;
    next_request(story);
}

static void head_holds(const struct story *story)
{
    const struct head *head = &story->head;
    struct text target = {story->block.data + head->target_at, head->path_len};
    CHECK(head->hosts == 1 && head->lengths + head->codings <= 1 && head->len <= story->block.len);
    CHECK(head->path_len > 0 && target.at[0] == '/');
    for (size_t i = 0; i < head->field_count; i++) {
        const struct head_field *field = &head->fields[i];
        CHECK(field->name_len > 0 && (size_t)field->value_at + field->value_len <= head->len);
        for (size_t k = 0; k < field->value_len; k++)
            CHECK(!memchr("\r\n", story->block.data[field->value_at + k], 3));
    }
}

static void feed_head(struct story *story, struct text *in)
{
    enum http_refusal refusal = REFUSE_NOT;
    size_t before = story->block.len, room = HEAD_BYTES_MAX - before, take = in->len < room ? in->len : room;
    CHECK(buf_append(&story->block, in->at, take) == OK);
    enum head_state state = head_step(&story->head, story->block.data, story->block.len);
    if (state == HEAD_REFUSED) {
        refuse(story, story->head.refusal);
        return;
    }
    size_t used = state == HEAD_DONE ? story->head.len - before : take;
    in->at += used;
    in->len -= used;
    if (state == HEAD_MORE)
        return;
    head_holds(story);
    tell(story, "head", (struct text){story->block.data, story->head.len});
    switch (message_head(&story->message, &story->head, story->block.data, &refusal)) {
    case MESSAGE_DONE:
        done(story);
        break;
    case MESSAGE_MORE:
        story->in_body = true;
        break;
    case MESSAGE_REFUSED:
    case MESSAGE_NOMEM:
        refuse(story, refusal);
        break;
    }
}

static void feed(struct story *story, struct text in)
{
    while (in.len > 0 && !story->over) {
        enum http_refusal refusal = REFUSE_NOT;
        if (!story->in_body) {
            feed_head(story, &in);
            continue;
        }
        enum message_state state = message_body(&story->message, &in, &refusal);
        CHECK(story->message.body.len <= HTTP_BODY_MAX);
        if (state == MESSAGE_DONE)
            done(story);
        else if (state != MESSAGE_MORE)
            refuse(story, refusal);
    }
}

/* In pieces of 1 to STEP bytes; STEP 0: whole. */
static void play(struct story *story, struct text in, size_t step)
{
    *story = (struct story){.over = false};
    buf_init(&story->told, 1 << 22);
    buf_init(&story->block, HEAD_BYTES_MAX);
    next_request(story);
    buf_init(&story->block, HEAD_BYTES_MAX);
    for (size_t turn = 0; in.len > 0; turn++) {
        size_t len = step ? 1 + turn * 7 % step : in.len;
        len = len < in.len ? len : in.len;
        char *piece = malloc(len);
        CHECK(piece);
        memcpy(piece, in.at, len);
        feed(story, (struct text){piece, len});
        free(piece);
        in.at += len;
        in.len -= len;
    }
    message_finish(&story->message);
    buf_finish(&story->block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 5, 100};
    struct text in = {(const char *)data, size};
    struct story whole, cut;
    play(&whole, in, 0);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        play(&cut, in, steps[i]);
        CHECK(text_equal(buf_view(&whole.told), buf_view(&cut.told)));
        buf_finish(&cut.told);
    }
    buf_finish(&whole.told);
    return 0;
}

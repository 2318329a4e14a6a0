/* What Redis' side of a connection may send: whatever it claims, our parser keeps within its limits. The replies of the
 * bytes cut anywhere are the same, each is as long as it may be at most, memory is bounded by what was really sent, and
 * after a refusal nothing more comes. */
#include "tests/fuzz/fuzz.h"

#include "common/redis/parser.h"

#include <stdio.h>

size_t __sanitizer_get_current_allocated_bytes(void); /* ASan's; its header comes with clang alone */

#define REPLY_BYTES_MAX 4096
#define ELEMENTS_MAX (REPLY_BYTES_MAX / 3)
/* A reply's object with its place in an array and what allocators add; the buffer doubles, and is kept up to a size. */
#define BYTES_AN_ELEMENT 256
#define BYTES_MAX (ELEMENTS_MAX * BYTES_AN_ELEMENT + 4 * REPLY_BYTES_MAX + 4 * REDIS_PARSER_BYTES_KEPT)

static void tell(struct buf *told, const struct redis_reply *reply)
{
    struct text text = reply_text(reply);
    CHECK(buf_format(told, "%d %zu %lld ", (int)reply_kind(reply), reply_len(reply), (long long)reply_int(reply, -1)) ==
          OK);
    CHECK(buf_text(told, text) == OK && reply_len(reply) <= ELEMENTS_MAX && text.len <= REPLY_BYTES_MAX);
    for (size_t i = 0; i < reply_len(reply); i++)
        tell(told, reply_at(reply, i));
}

/* In pieces of STEP bytes; 0: whole. */
static void play(struct text in, size_t step, struct buf *told)
{
    struct redis_parser *parser;
    const char *why = NULL;
    size_t before = __sanitizer_get_current_allocated_bytes(), sent = 0;
    CHECK(redis_parser_create(&parser, REPLY_BYTES_MAX) == OK);
    for (size_t at = 0; at < in.len && !why; at += sent) {
        struct redis_reply *reply;
        sent = step && step < in.len - at ? step : in.len - at;
        CHECK(redis_parser_feed(parser, in.at + at, sent) == OK);
        CHECK(__sanitizer_get_current_allocated_bytes() < before + BYTES_MAX + 4 * in.len + 2 * told->cap);
        while ((reply = redis_parser_next(parser, &why)) != NULL) {
            CHECK(!why);
            tell(told, reply);
            redis_reply_free(reply);
        }
    }
    CHECK(buf_text(told, why ? TEXT("refused") : TEXT("")) == OK);
    if (why)
        CHECK(!redis_parser_next(parser, &why));
    redis_parser_destroy(parser);
}

/* An array that says it has more elements than a reply has room for is refused before anything is made for it. */
static void claim(struct text in)
{
    char text[32];
    uint64_t count = 0;
    struct redis_parser *parser;
    const char *why = NULL;
    if (in.len < sizeof count)
        return;
    memcpy(&count, in.at, sizeof count);
    count = ELEMENTS_MAX + 1 + count % INT32_MAX % (INT32_MAX - ELEMENTS_MAX - 1);
    int len = snprintf(text, sizeof text, "*%llu\r\n", (unsigned long long)count);
    CHECK(redis_parser_create(&parser, REPLY_BYTES_MAX) == OK);
    size_t before = __sanitizer_get_current_allocated_bytes();
    CHECK(redis_parser_feed(parser, text, (size_t)len) == OK && !redis_parser_next(parser, &why) && why);
    CHECK(__sanitizer_get_current_allocated_bytes() < before + 4096);
    redis_parser_destroy(parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 7, 100};
    struct text in = {(const char *)data, size};
    struct buf whole, cut;
    buf_init(&whole, 1 << 24);
    play(in, 0, &whole);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        buf_init(&cut, 1 << 24);
        play(in, steps[i], &cut);
        CHECK(text_equal(buf_view(&whole), buf_view(&cut)));
        buf_finish(&cut);
    }
    buf_finish(&whole);
    claim(in);
    return 0;
}

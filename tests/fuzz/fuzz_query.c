/* Query strings, cookies and routes. First line: a query; second: a Cookie header; the rest: a value. A value that is
 * percent-encoded comes back as it was, wherever it stands in the query; given twice it is refused. */
#include "tests/fuzz/fuzz.h"

#include "common/http/cookie.h"
#include "common/http/exchange.h"
#include "common/http/request.h"

static void query(struct text text, struct text wanted, bool twice)
{
    static struct http_request request;
    char value[512];
    memset(&request, 0, sizeof request);
    buf_init(&request.block, 1 << 20);
    CHECK(buf_text(&request.block, TEXT("?")) == OK && buf_text(&request.block, text) == OK);
    if (text.len > UINT16_MAX)
        text.len = UINT16_MAX;
    request.head.query_at = 1;
    request.head.query_len = (uint16_t)text.len;
    enum err err = http_request_param(&request, "value", value, sizeof value);
    if (err == OK)
        CHECK(strlen(value) < sizeof value && http_request_header_count(&request, "cookie") == 0);
    if (wanted.at && twice)
        CHECK(err == ERR_INVALID);
    else if (wanted.at && err == OK)
        CHECK(text_is(wanted, value));
    (void)http_request_params_only(&request, "value session ticket");
    buf_finish(&request.block);
}

static void encoded(struct text before, struct text value)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    char held[400];
    if (value.len >= sizeof held || before.len > 1000 || memchr(value.at ? value.at : "", '\0', value.len) ||
        memchr(before.at ? before.at : "", '%', before.len) ||
        memmem(before.at ? before.at : "", before.len, "value", 5))
        return;
    CHECK(buf_text(&text, before) == OK && buf_text(&text, TEXT("&value=")) == OK);
    for (size_t i = 0; i < value.len; i++)
        CHECK(buf_format(&text, "%%%02x", (unsigned char)value.at[i]) == OK);
    query(buf_view(&text), value.at ? value : TEXT(""), false);
    CHECK(buf_text(&text, TEXT("&%76alue=1")) == OK);
    query(buf_view(&text), TEXT("1"), true);
    buf_finish(&text);
}

static void cookie(struct text header)
{
    struct text value = cookie_find(header, "anteroom");
    if (value.at)
        CHECK(value.at >= header.at && value.at + value.len <= header.at + header.len &&
              !memchr(value.at, ';', value.len));
    char mine[1024];
    if (value.at || header.len > 900)
        return;
    int len =
        snprintf(mine, sizeof mine, "%.*s; anteroom=abc; anteroom=def", (int)header.len, header.at ? header.at : "");
    struct text all = {mine, (size_t)len};
    if (!memchr(header.at ? header.at : "", '\0', header.len))
        CHECK(text_is(cookie_find(all, "anteroom"), "abc"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {{(const char *)data, size}};
    struct text first = input_line(&input);
    query(first, (struct text){NULL, 0}, false);
    cookie(input_line(&input));
    encoded(first, input.rest);
    return 0;
}

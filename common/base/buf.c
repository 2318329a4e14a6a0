#include "common/base/buf.h"

#include "common/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

void buf_finish(struct buf *buf)
{
    free(buf->data);
    buf_init(buf, buf->max);
}

enum err buf_reserve(struct buf *buf, size_t extra)
{
    if (extra > buf->max - buf->len)
        return ERR_TOO_BIG;
    size_t need = buf->len + extra;
    if (need <= buf->cap)
        return OK;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap *= 2;
    if (cap > buf->max)
        cap = buf->max;
    char *data = realloc(buf->data, cap);
    if (!data)
        return ERR_NOMEM;
    buf->data = data;
    buf->cap = cap;
    return OK;
}

enum err buf_append(struct buf *buf, const void *bytes, size_t len)
{
    enum err err = buf_reserve(buf, len);
    if (err == OK && len) {
        memcpy(buf->data + buf->len, bytes, len);
        buf->len += len;
    }
    return err;
}

enum err buf_text(struct buf *buf, struct text text)
{
    return buf_append(buf, text.at, text.len);
}

enum err buf_format(struct buf *buf, const char *format, ...)
{
    char stack[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(stack, sizeof stack, format, args);
    va_end(args);
    CHECK(len >= 0);
    if ((size_t)len < sizeof stack)
        return buf_append(buf, stack, (size_t)len);
    enum err err = buf_reserve(buf, (size_t)len + 1); /* vsnprintf wants room for its NUL */
    if (err != OK)
        return err;
    va_start(args, format);
    vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
    va_end(args);
    buf->len += (size_t)len;
    return OK;
}

/* Length of the well-formed UTF-8 sequence at P (RFC 3629), 0 if there is none. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return len;
}

enum err buf_json(struct buf *buf, struct text text)
{
    size_t start = buf->len;
    const unsigned char *p = (const unsigned char *)text.at;
    enum err err = OK;
    for (size_t i = 0; i < text.len && err == OK;) {
        size_t len = utf8_len(p + i, text.len - i);
        if (len == 0) {
            err = buf_append(buf, "\xef\xbf\xbd", 3);
            len = 1;
        } else if (p[i] == '"' || p[i] == '\\') {
            err = buf_format(buf, "\\%c", p[i]);
        } else if (p[i] < 0x20 || p[i] == 0x7f) {
            err = buf_format(buf, "\\u%04x", p[i]);
        } else {
            err = buf_append(buf, p + i, len);
        }
        i += len;
    }
    if (err != OK)
        buf->len = start;
    return err;
}

void buf_consume(struct buf *buf, size_t len)
{
    CHECK(len <= buf->len);
    if (len < buf->len)
        memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
}

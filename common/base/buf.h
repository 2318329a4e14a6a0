/** Bytes with a ceiling. One owner, one thread. Contents are bytes, not a C string. */
#ifndef ANTEROOM_BASE_BUF_H
#define ANTEROOM_BASE_BUF_H

#include "common/base/err.h"
#include "common/base/text.h"

#include <stdarg.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t len, cap, max;
};

/** Empty, nothing allocated yet. MAX is the ceiling in bytes. */
void buf_init(struct buf *buf, size_t max);
/** Frees the bytes; the buffer is empty and usable again. */
void buf_finish(struct buf *buf);
/** Makes room for EXTRA more bytes. ERR_TOO_BIG past the ceiling, ERR_NOMEM; on failure the buffer is unchanged. */
MUST_CHECK enum err buf_reserve(struct buf *buf, size_t extra);
/** Append a copy of LEN bytes. Errors as buf_reserve; on failure the buffer is unchanged. */
MUST_CHECK enum err buf_append(struct buf *buf, const void *bytes, size_t len);
MUST_CHECK enum err buf_text(struct buf *buf, struct text text);
MUST_CHECK enum err buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Append TEXT as the inside of a JSON string: quotes, backslashes, control characters and invalid UTF-8 are made safe.
 */
MUST_CHECK enum err buf_json(struct buf *buf, struct text text);
/** Drop the first LEN bytes. */
void buf_consume(struct buf *buf, size_t len);

static inline struct text buf_view(const struct buf *buf)
{
    return (struct text){buf->data, buf->len};
}

#endif

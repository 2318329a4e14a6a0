/** The strict check of a request's header block. Pure and incremental: its verdict depends on the bytes and never on
 * how they were cut into reads. It says more than llhttp does: what smuggling needs (bare CR and LF, folding, two
 * lengths, odd targets, ...) is refused at the first byte that shows it. */
#ifndef ANTEROOM_HTTP_HEAD_H
#define ANTEROOM_HTTP_HEAD_H

#include "common/base/text.h"
#include "common/http/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_BYTES_MAX 16384
#define HEAD_TARGET_MAX 8192
#define HEAD_FIELDS_MAX 100
#define HTTP_BODY_MAX 65536

/* Offsets into the block. */
struct head_field {
    uint16_t name_at, name_len, value_at, value_len;
};

struct head {
    size_t scanned;   /* bytes seen so far */
    size_t line_at;   /* where the present line begins */
    size_t len;       /* of the whole block with its empty line; 0 until HEAD_DONE */
    size_t lines;     /* complete ones */
    size_t target_at; /* 0 until the method's blank was seen */
    bool target_ended;
    enum http_refusal refusal; /* after HEAD_REFUSED */

    uint16_t method_len, path_len; /* the path begins at target_at */
    uint16_t query_at, query_len;  /* query_at 0: no '?' */
    uint8_t minor;
    bool is_head, takes_body;
    struct head_field fields[HEAD_FIELDS_MAX];
    size_t field_count;

    size_t hosts, lengths, codings;
    bool chunked, expects, close, keep_alive;
    uint64_t body_len; /* Content-Length */
};

enum head_state { HEAD_MORE, HEAD_DONE, HEAD_REFUSED };

void head_init(struct head *head);
/** BYTES is the block from its start, LEN what there is of it by now; at most HEAD_BYTES_MAX are looked at. After
 *  HEAD_DONE, what follows head->len belongs to the body or the next request. */
enum head_state head_step(struct head *head, const char *bytes, size_t len);
/** After HEAD_DONE: chunked, or a length above zero. */
bool head_has_body(const struct head *head);

#endif

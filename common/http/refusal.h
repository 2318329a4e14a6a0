/** The ways in which the server itself refuses a request, before any handler sees it. A table: status, code, sentence.
 */
#ifndef ANTEROOM_HTTP_REFUSAL_H
#define ANTEROOM_HTTP_REFUSAL_H

enum http_refusal {
    REFUSE_NOT, /* no refusal */
    REFUSE_BYTES,
    REFUSE_REQUEST_LINE,
    REFUSE_VERSION,
    REFUSE_METHOD,
    REFUSE_TARGET,
    REFUSE_TARGET_LONG,
    REFUSE_HEAD_LONG,
    REFUSE_FIELDS,
    REFUSE_FIELD,
    REFUSE_FOLD,
    REFUSE_LOOKALIKE,
    REFUSE_HOST,
    REFUSE_LENGTH,
    REFUSE_LENGTH_AND_CODING,
    REFUSE_CODING_TWICE,
    REFUSE_CODING_OLD,
    REFUSE_CODING,
    REFUSE_BODY_UNASKED,
    REFUSE_BODY_LONG,
    REFUSE_EXPECT,
    REFUSE_CHUNK,
    REFUSE_TRAILER,
    REFUSE_PARSER,
    REFUSE_SLOW,
    REFUSE_PATH,
    REFUSE_VERB,
    REFUSE_FULL,
    HTTP_REFUSAL_COUNT
};

struct http_refusal_row {
    int status;
    const char *code, *title, *detail;
};

/** REFUSAL must not be REFUSE_NOT. */
const struct http_refusal_row *http_refusal_row(enum http_refusal refusal);

#endif

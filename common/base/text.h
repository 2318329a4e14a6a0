/** Borrowed pieces of text, strict number parsing, base64url and percent decoding. Pure; nothing here allocates. */
#ifndef ANTEROOM_BASE_TEXT_H
#define ANTEROOM_BASE_TEXT_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** LEN bytes at AT, not terminated, borrowed. {NULL, 0} is "absent". */
struct text {
    const char *at;
    size_t len;
};

#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})

static inline struct text text_of(const char *string)
{
    return (struct text){string, string ? strlen(string) : 0};
}

bool text_equal(struct text a, struct text b);
bool text_equal_nocase(struct text a, struct text b);
bool text_is(struct text text, const char *string);
bool text_starts(struct text text, const char *prefix);
/** Visible ASCII without quote and backslash: it may stand in JSON, in a header and in an event as it is. "" may. */
bool text_is_plain(struct text text);
/** No control character, quote or backslash: it may stand in JSON, where it is UTF-8. */
bool text_is_quotable(struct text text);
/** Without spaces and tabs at both ends. */
struct text text_trim(struct text text);
/** Cuts the part up to SEPARATOR off *REST and returns it; false once nothing is left. "a,,b" gives a, "", b. */
bool text_next(struct text *rest, char separator, struct text *part);
/** Copies with a NUL. ERR_TOO_BIG when it and the NUL do not fit SIZE; DST is then "". */
MUST_CHECK enum err text_copy(char *dst, size_t size, struct text text);
/** All of TEXT is a decimal number (optional '-'; no '+', no blanks, no leading zeros but "0"). ERR_INVALID, ERR_RANGE.
 */
MUST_CHECK enum err text_int(struct text text, int64_t min, int64_t max, int64_t *out);
/** A decimal fraction as strtod reads it in the C locale, whole text, finite. */
MUST_CHECK enum err text_double(struct text text, double *out);
/** Constant time in the content (not in the length). */
bool text_equal_secret(struct text a, struct text b);

/** Bytes of base64url (no padding) for LEN bytes, without a NUL. */
#define BASE64URL_LEN(len) (((len)*4 + 2) / 3)
/** Writes BASE64URL_LEN(len) characters and no NUL. */
void base64url_encode(char *dst, const void *bytes, size_t len);
/** Strict: only the alphabet, no padding, unused bits zero. *OUT_LEN is set. ERR_INVALID, ERR_TOO_BIG. */
MUST_CHECK enum err base64url_decode(uint8_t *dst, size_t size, struct text text, size_t *out_len);
void hex_encode(char *dst, const void *bytes, size_t len);
/** %XX and, where PLUS, '+' as blank. ERR_INVALID on a broken escape or an encoded NUL, ERR_TOO_BIG. */
MUST_CHECK enum err percent_decode(char *dst, size_t size, struct text text, bool plus, size_t *out_len);

#endif

#include "common/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

bool text_equal(struct text a, struct text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool text_equal_nocase(struct text a, struct text b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.at, b.at, a.len) == 0);
}

bool text_is(struct text text, const char *string)
{
    return text_equal(text, text_of(string));
}

bool text_starts(struct text text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.at, prefix, len) == 0;
}

bool text_is_plain(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\')
            return false;
    }
    return true;
}

bool text_is_quotable(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c < ' ' || c == 0x7f || c == '"' || c == '\\')
            return false;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct text text_trim(struct text text)
{
    while (text.len > 0 && is_blank(text.at[0])) {
        text.at++;
        text.len--;
    }
    while (text.len > 0 && is_blank(text.at[text.len - 1]))
        text.len--;
    return text;
}

bool text_next(struct text *rest, char separator, struct text *part)
{
    if (!rest->at)
        return false;
    const char *end = rest->len ? memchr(rest->at, separator, rest->len) : NULL;
    if (!end) {
        *part = *rest;
        *rest = (struct text){NULL, 0};
        return true;
    }
    *part = (struct text){rest->at, (size_t)(end - rest->at)};
    rest->len -= part->len + 1;
    rest->at = end + 1;
    return true;
}

enum err text_copy(char *dst, size_t size, struct text text)
{
    if (text.len >= size) {
        if (size)
            dst[0] = '\0';
        return ERR_TOO_BIG;
    }
    if (text.len)
        memcpy(dst, text.at, text.len);
    dst[text.len] = '\0';
    return OK;
}

enum err text_int(struct text text, int64_t min, int64_t max, int64_t *out)
{
    bool negative = text.len > 0 && text.at[0] == '-';
    size_t i = negative ? 1 : 0;
    size_t digits = text.len - i;
    if (digits == 0 || ((negative || digits > 1) && text.at[i] == '0'))
        return ERR_INVALID;
    int64_t value = 0;
    bool overflow = false;
    for (; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return ERR_INVALID;
        overflow = overflow || __builtin_mul_overflow(value, 10, &value) ||
                   __builtin_sub_overflow(value, text.at[i] - '0', &value);
    }
    if (!negative && !overflow)
        overflow = __builtin_sub_overflow((int64_t)0, value, &value);
    if (overflow || value < min || value > max)
        return ERR_RANGE;
    *out = value;
    return OK;
}

enum err text_double(struct text text, double *out)
{
    char copy[64], *end;
    if (text.len == 0 || text.at[0] == ' ' || text_copy(copy, sizeof copy, text) != OK || strlen(copy) != text.len)
        return ERR_INVALID;
    for (const char *p = copy; *p; p++)
        if (!strchr("0123456789+-.eE", *p))
            return ERR_INVALID;
    double value = strtod(copy, &end);
    if (*end || !isfinite(value))
        return ERR_INVALID;
    *out = value;
    return OK;
}

bool text_equal_secret(struct text a, struct text b)
{
    if (a.len != b.len)
        return false;
    unsigned char difference = 0;
    for (size_t i = 0; i < a.len; i++)
        difference |= (unsigned char)(a.at[i] ^ b.at[i]);
    return difference == 0;
}

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_encode(char *dst, const void *bytes, size_t len)
{
    const uint8_t *in = bytes;
    for (; len >= 3; len -= 3, in += 3) {
        *dst++ = base64url[in[0] >> 2];
        *dst++ = base64url[(in[0] & 3) << 4 | in[1] >> 4];
        *dst++ = base64url[(in[1] & 15) << 2 | in[2] >> 6];
        *dst++ = base64url[in[2] & 63];
    }
    if (len == 0)
        return;
    uint8_t second = len == 2 ? in[1] : 0;
    *dst++ = base64url[in[0] >> 2];
    *dst++ = base64url[(in[0] & 3) << 4 | second >> 4];
    if (len == 2)
        *dst = base64url[(second & 15) << 2];
}

static int base64url_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

enum err base64url_decode(uint8_t *dst, size_t size, struct text text, size_t *out_len)
{
    uint32_t bits = 0;
    int have = 0;
    size_t len = 0;
    if (text.len % 4 == 1)
        return ERR_INVALID;
    for (size_t i = 0; i < text.len; i++) {
        int value = base64url_value(text.at[i]);
        if (value < 0)
            return ERR_INVALID;
        bits = (bits << 6 | (uint32_t)value) & 0xffffff;
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (len == size)
                return ERR_TOO_BIG;
            dst[len++] = (uint8_t)(bits >> have);
        }
    }
    if (bits & ((1u << have) - 1))
        return ERR_INVALID;
    *out_len = len;
    return OK;
}

void hex_encode(char *dst, const void *bytes, size_t len)
{
    const uint8_t *in = bytes;
    for (size_t i = 0; i < len; i++) {
        *dst++ = "0123456789abcdef"[in[i] >> 4];
        *dst++ = "0123456789abcdef"[in[i] & 15];
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

enum err percent_decode(char *dst, size_t size, struct text text, bool plus, size_t *out_len)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '%') {
            bool whole = text.len - i > 2;
            int high = whole ? hex_value(text.at[i + 1]) : -1;
            int low = whole ? hex_value(text.at[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return ERR_INVALID;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (len == size)
            return ERR_TOO_BIG;
        dst[len++] = c;
    }
    *out_len = len;
    return OK;
}

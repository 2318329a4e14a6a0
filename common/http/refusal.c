#include "common/http/refusal.h"

#include "common/base/check.h"

#define BAD(sentence)                               \
    {                                               \
        400, "bad-request", "Bad Request", sentence \
    }

static const struct http_refusal_row rows[HTTP_REFUSAL_COUNT] = {
    [REFUSE_BYTES] = BAD("The header block holds a bare CR or LF, a NUL or another control character."),
    [REFUSE_REQUEST_LINE] = BAD("The request line is not METHOD SP TARGET SP VERSION."),
    [REFUSE_VERSION] = BAD("Only HTTP/1.0 and HTTP/1.1 are spoken here."),
    [REFUSE_METHOD] = {501, "not-implemented", "Not Implemented", "This method is not implemented."},
    [REFUSE_TARGET] = BAD("The request target must begin with '/' and hold visible ASCII without '#'."),
    [REFUSE_TARGET_LONG] = {414, "uri-too-long", "URI Too Long", "The request target is longer than 8 KiB."},
    [REFUSE_HEAD_LONG] = {431, "header-too-large", "Request Header Fields Too Large",
                          "The header block is larger than 16 KiB."},
    [REFUSE_FIELDS] = {431, "header-too-large", "Request Header Fields Too Large",
                       "There are more than 100 header fields."},
    [REFUSE_FIELD] = BAD("A header line is not NAME: VALUE."),
    [REFUSE_FOLD] = BAD("A header line begins with a blank."),
    [REFUSE_LOOKALIKE] = BAD("A header name differs from Content-Length or Transfer-Encoding only in its punctuation."),
    [REFUSE_HOST] = BAD("There must be exactly one Host header, with a host name or address."),
    [REFUSE_LENGTH] = BAD("Content-Length must be given once, as a plain decimal number."),
    [REFUSE_LENGTH_AND_CODING] = BAD("Content-Length and Transfer-Encoding exclude each other."),
    [REFUSE_CODING_TWICE] = BAD("Transfer-Encoding is given more than once."),
    [REFUSE_CODING_OLD] = BAD("HTTP/1.0 has no Transfer-Encoding."),
    [REFUSE_CODING] = {501, "not-implemented", "Not Implemented", "The only transfer coding here is chunked, alone."},
    [REFUSE_BODY_UNASKED] = BAD("This method takes no body."),
    [REFUSE_BODY_LONG] = {413, "payload-too-large", "Content Too Large", "The body is larger than 64 KiB."},
    [REFUSE_EXPECT] = {417, "expectation-failed", "Expectation Failed", "The only expectation known is 100-continue."},
    [REFUSE_CHUNK] = BAD("The chunked body is malformed."),
    [REFUSE_TRAILER] = BAD("Trailer fields are not accepted."),
    [REFUSE_PARSER] = BAD("The request could not be parsed."),
    [REFUSE_SLOW] = {408, "request-timeout", "Request Timeout", "The request was not complete in time."},
    [REFUSE_PATH] = {404, "not-found", "Not Found", "There is nothing at this path."},
    [REFUSE_VERB] = {405, "method-not-allowed", "Method Not Allowed",
                     "The Allow header names the methods of this path."},
    [REFUSE_FULL] = {503, "too-many-connections", "Service Unavailable", "Too many connections are open; try again."},
};

const struct http_refusal_row *http_refusal_row(enum http_refusal refusal)
{
    CHECK(refusal > REFUSE_NOT && refusal < HTTP_REFUSAL_COUNT);
    return &rows[refusal];
}

/* The texts everything else is made of: numbers, base64url, percent escapes, JSON strings, and the options that are
 * texts with a form of their own. What is read is written as it was. */
#include "tests/fuzz/fuzz.h"

#include "common/redis/url.h"
#include "gateway/limiter.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static void numbers(struct text in)
{
    char again[32];
    int64_t number;
    double fraction;
    if (text_int(in, INT64_MIN, INT64_MAX, &number) == OK) {
        snprintf(again, sizeof again, "%" PRId64, number);
        CHECK(text_is(in, again));
    }
    if (text_double(in, &fraction) == OK)
        CHECK(isfinite(fraction));
}

static void base64(struct text in)
{
    size_t len, room = in.len + 1;
    uint8_t *bytes = malloc(room);
    char *again = malloc(BASE64URL_LEN(room) + 1);
    CHECK(bytes && again);
    if (base64url_decode(bytes, room, in, &len) == OK) {
        base64url_encode(again, bytes, len);
        CHECK(BASE64URL_LEN(len) == in.len && (in.len == 0 || memcmp(again, in.at, in.len) == 0));
    }
    base64url_encode(again, in.at ? in.at : "", in.len);
    CHECK(base64url_decode(bytes, room, (struct text){again, BASE64URL_LEN(in.len)}, &len) == OK && len == in.len &&
          (len == 0 || memcmp(bytes, in.at, len) == 0));
    free(again);
    free(bytes);
}

static void json_string_of(struct text in)
{
    struct buf out;
    buf_init(&out, 1 << 22);
    CHECK(buf_text(&out, TEXT("\"")) == OK && buf_json(&out, in) == OK && buf_text(&out, TEXT("\"")) == OK);
    json_t *json = json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    CHECK(json_is_string(json));
    json_t *given = json_stringn(in.at ? in.at : "", in.len); /* NULL where it is no UTF-8 */
    CHECK(!given || json_equal(given, json));
    json_decref(given);
    json_decref(json);
    buf_finish(&out);
}

static void options(struct text in)
{
    struct redis_url url;
    const char *why = NULL;
    char shown[1024];
    uint32_t count, period_ms;
    size_t len;
    if (redis_url_parse(&url, in, &why) == OK) {
        redis_url_show(&url, shown, sizeof shown);
        CHECK(strlen(shown) < sizeof shown);
        CHECK(strlen(url.password) < 8 || strstr(url.user, url.password) || strstr(url.host, url.password) ||
              strstr(url.path, url.password) || !strstr(shown, url.password));
    } else {
        CHECK(why);
    }
    if (limiter_parse(in, &count, &period_ms) == OK)
        CHECK(count == 0 || period_ms > 0);
    if (percent_decode(shown, sizeof shown, in, true, &len) == OK)
        CHECK(len <= in.len && len <= sizeof shown &&
              (memchr(in.at ? in.at : "", '\0', in.len) || !memchr(shown, '\0', len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text in = {(const char *)data, size};
    numbers(in);
    base64(in);
    json_string_of(in);
    options(in);
    return 0;
}

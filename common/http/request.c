#include "common/http/request.h"

#include "common/http/cookie.h"
#include "common/http/exchange.h"

static struct text absent(void)
{
    return (struct text){NULL, 0};
}

static struct text piece(const struct http_request *request, size_t at, size_t len)
{
    return (struct text){request->block.data + at, len};
}

struct text http_request_method(const struct http_request *request)
{
    return request->head.method_len ? piece(request, 0, request->head.method_len) : absent();
}

struct text http_request_path(const struct http_request *request)
{
    const struct head *head = &request->head;
    return head->path_len ? piece(request, head->target_at, head->path_len) : absent();
}

struct text http_request_query(const struct http_request *request)
{
    return request->head.query_at ? piece(request, request->head.query_at, request->head.query_len) : absent();
}

static struct text field_name(const struct http_request *request, size_t i)
{
    return piece(request, request->head.fields[i].name_at, request->head.fields[i].name_len);
}

size_t http_request_header_count(const struct http_request *request, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < request->head.field_count; i++)
        count += text_equal_nocase(field_name(request, i), text_of(name));
    return count;
}

struct text http_request_header_at(const struct http_request *request, const char *name, size_t index)
{
    for (size_t i = 0; i < request->head.field_count; i++) {
        const struct head_field *field = &request->head.fields[i];
        if (text_equal_nocase(field_name(request, i), text_of(name)) && index-- == 0)
            return piece(request, field->value_at, field->value_len);
    }
    return absent();
}

struct text http_request_header(const struct http_request *request, const char *name)
{
    return http_request_header_at(request, name, 0);
}

struct text http_request_cookie(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->head.field_count; i++) {
        const struct head_field *field = &request->head.fields[i];
        if (!text_equal_nocase(field_name(request, i), TEXT("cookie")))
            continue;
        struct text value = cookie_find(piece(request, field->value_at, field->value_len), name);
        if (value.at)
            return value;
    }
    return absent();
}

struct text http_request_bearer(const struct http_request *request)
{
    struct text value = http_request_header(request, "Authorization");
    if (value.len <= 7 || !text_equal_nocase((struct text){value.at, 7}, TEXT("Bearer ")))
        return absent();
    return text_trim((struct text){value.at + 7, value.len - 7});
}

struct text http_request_body(const struct http_request *request)
{
    return buf_view(&request->message.body);
}

/* Names are compared decoded, so that "a" and "%61" are one name given twice. */
static bool param_is(struct text key, const char *name)
{
    char decoded[128];
    size_t len;
    return percent_decode(decoded, sizeof decoded, key, true, &len) == OK && text_is((struct text){decoded, len}, name);
}

bool http_request_params_only(const struct http_request *request, const char *names)
{
    struct text rest = http_request_query(request), pair, key;
    while (text_next(&rest, '&', &pair)) {
        struct text known = text_of(names), name;
        bool found = pair.len == 0;
        text_next(&pair, '=', &key);
        while (!found && text_next(&known, ' ', &name)) {
            char one[64];
            found = name.len > 0 && text_copy(one, sizeof one, name) == OK && param_is(key, one);
        }
        if (!found)
            return false;
    }
    return true;
}

enum err http_request_param(const struct http_request *request, const char *name, char *dst, size_t size)
{
    struct text rest = http_request_query(request), pair, found = absent();
    while (text_next(&rest, '&', &pair)) {
        struct text key, value = pair;
        if (!text_next(&value, '=', &key) || !param_is(key, name))
            continue;
        if (found.at)
            return ERR_INVALID;
        found = value.at ? value : (struct text){key.at + key.len, 0};
    }
    if (!found.at)
        return ERR_MISSING;
    size_t len = 0;
    enum err err = size ? percent_decode(dst, size - 1, found, true, &len) : ERR_TOO_BIG;
    if (size)
        dst[err == OK ? len : 0] = '\0';
    return err;
}

struct text http_request_segment(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->match.param_count; i++)
        if (text_is(request->match.names[i], name))
            return request->match.values[i];
    return absent();
}

const struct route *http_request_route(const struct http_request *request)
{
    return request->match.route;
}

const struct sockaddr *http_request_peer(const struct http_request *request)
{
    return &request->peer.any;
}

const char *http_request_id(const struct http_request *request)
{
    return request->id;
}

int http_request_minor(const struct http_request *request)
{
    return request->head.minor;
}

void http_request_on_gone(struct http_request *request, void (*gone)(void *data), void *data)
{
    request->gone = gone;
    request->gone_data = data;
}

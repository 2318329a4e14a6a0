#include "publisher/admin_body.h"

#include "common/http/request.h"
#include "common/line/memory.h"
#include "publisher/admin_answer.h"

#include <string.h>

static bool type_fits(struct text header)
{
    struct text type;
    if (!header.at)
        return true;
    text_next(&header, ';', &type);
    type = text_trim(type);
    return text_equal_nocase(type, TEXT("application/json")) ||
           text_equal_nocase(type, TEXT("application/merge-patch+json"));
}

json_t *admin_body_object(struct http_request *request)
{
    struct text body = http_request_body(request);
    json_error_t wrong = {.text = "there is no body"};
    if (!type_fits(http_request_header(request, "content-type"))) {
        admin_problem(request, 415, "unsupported-media-type", "Not JSON",
                      "Send application/json or application/merge-patch+json.");
        return NULL;
    }
    size_t refused = memory_refused();
    json_t *object = body.len ? json_loadb(body.at, body.len, JSON_REJECT_DUPLICATES, &wrong) : NULL;
    if (memory_refused() != refused)
        admin_unavailable(request, ERR_NOMEM);
    else if (json_is_object(object))
        return object;
    else
        admin_problem(request, 400, "bad-request", "Not a JSON object",
                      object ? "the body must be an object" : wrong.text);
    json_decref(object);
    return NULL;
}

bool admin_condition_parse(struct text if_match, struct text if_none_match, struct admin_condition *condition)
{
    int64_t version;
    struct text tag = text_trim(if_match);
    *condition = (struct admin_condition){.given = if_match.at || if_none_match.at};
    if (if_match.at && if_none_match.at)
        return false;
    if (if_none_match.at)
        return text_is(text_trim(if_none_match), "*") &&
               text_copy(condition->expected, sizeof condition->expected, TEXT("absent")) == OK;
    if (!if_match.at)
        return true;
    if (!text_is(tag, "*")) {
        if (tag.len < 3 || tag.at[0] != '"' || tag.at[tag.len - 1] != '"')
            return false;
        tag = (struct text){tag.at + 1, tag.len - 2};
        if (text_int(tag, 1, (int64_t)1 << 53, &version) != OK)
            return false;
    }
    return text_copy(condition->expected, sizeof condition->expected, tag) == OK;
}

bool admin_condition_read(struct http_request *request, struct admin_condition *condition)
{
    if (http_request_header_count(request, "if-match") <= 1 &&
        http_request_header_count(request, "if-none-match") <= 1 &&
        admin_condition_parse(http_request_header(request, "if-match"), http_request_header(request, "if-none-match"),
                              condition))
        return true;
    admin_problem(request, 400, "bad-request", "Not a precondition",
                  "If-Match is * or one ETag such as \"3\"; If-None-Match is *; not both.");
    return false;
}

const char *admin_body_strip(json_t *body, const char *session)
{
    json_t *id = json_object_get(body, "sessionId");
    if (id && (!json_is_string(id) || strcmp(json_string_value(id), session) != 0))
        return "sessionId";
    json_object_del(body, "sessionId");
    json_object_del(body, "version");
    json_object_del(body, "live");
    return NULL;
}

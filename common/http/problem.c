#include "common/http/answer.h"

static enum err member(struct buf *out, const char *name, const char *value)
{
    enum err err = buf_format(out, "%s\"%s\":\"", out->len && out->data[out->len - 1] != '{' ? "," : "", name);
    if (err == OK)
        err = buf_json(out, text_of(value));
    return err == OK ? buf_append(out, "\"", 1) : err;
}

enum err problem_write(struct buf *out, const struct http_problem *problem, const char *request_id)
{
    enum err err = buf_format(out, "{\"type\":\"/problems/%s\"", problem->code);
    if (err == OK)
        err = member(out, "code", problem->code);
    if (err == OK)
        err = member(out, "title", problem->title);
    if (err == OK)
        err = buf_format(out, ",\"status\":%d", problem->status);
    if (err == OK && problem->detail)
        err = member(out, "detail", problem->detail);
    if (err == OK)
        err = member(out, "instance", request_id);
    if (err == OK && problem->retry_after_seconds)
        err = buf_format(out, ",\"retryAfterSeconds\":%u", problem->retry_after_seconds);
    if (err == OK && problem->extra)
        err = buf_text(out, text_of(problem->extra));
    return err == OK ? buf_append(out, "}", 1) : err;
}

size_t http_problem_json(const struct http_problem *problem, const char *request_id, char *dst, size_t size)
{
    struct buf json;
    buf_init(&json, size);
    size_t len = problem_write(&json, problem, request_id) == OK ? json.len : 0;
    if (len)
        memcpy(dst, json.data, len);
    buf_finish(&json);
    return len;
}

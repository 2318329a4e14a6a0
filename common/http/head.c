#include "common/http/head.h"

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_token(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_alnum(text.at[i]) && !(text.at[i] && strchr("!#$%&'*+-.^_`|~", text.at[i])))
            return false;
    return text.len > 0;
}

static const struct {
    const char *name;
    bool takes_body;
} methods[] = {
    {"GET", false},  {"HEAD", false},  {"POST", true},     {"PUT", true},
    {"PATCH", true}, {"DELETE", true}, {"OPTIONS", false},
};

static enum http_refusal method_check(struct head *head, struct text method)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (!text_is(method, methods[i].name))
            continue;
        head->method_len = (uint16_t)method.len;
        head->takes_body = methods[i].takes_body;
        head->is_head = text_is(method, "HEAD");
        return REFUSE_NOT;
    }
    return REFUSE_METHOD;
}

static enum http_refusal target_check(struct head *head, struct text target)
{
    if (target.at[0] != '/')
        return REFUSE_TARGET;
    size_t query = 0;
    for (size_t i = 0; i < target.len; i++) {
        if (target.at[i] <= ' ' || target.at[i] > '~' || target.at[i] == '#')
            return REFUSE_TARGET;
        if (target.at[i] == '?' && !query)
            query = i;
    }
    head->path_len = (uint16_t)(query ? query : target.len);
    if (query) {
        head->query_at = (uint16_t)(head->target_at + query + 1);
        head->query_len = (uint16_t)(target.len - query - 1);
    }
    return REFUSE_NOT;
}

static enum http_refusal request_line(struct head *head, struct text line)
{
    struct text method, target, version = line;
    if (!text_next(&version, ' ', &method) || !text_next(&version, ' ', &target) || !version.at || target.len == 0 ||
        !is_token(method))
        return REFUSE_REQUEST_LINE;
    if (!text_is(version, "HTTP/1.1") && !text_is(version, "HTTP/1.0"))
        return memchr(version.at, ' ', version.len) ? REFUSE_REQUEST_LINE : REFUSE_VERSION;
    head->minor = version.at[version.len - 1] == '1';
    enum http_refusal refusal = method_check(head, method);
    return refusal != REFUSE_NOT ? refusal : target_check(head, target);
}

static enum http_refusal host_field(struct head *head, struct text value)
{
    if (++head->hosts > 1 || value.len == 0)
        return REFUSE_HOST;
    for (size_t i = 0; i < value.len; i++)
        if (!is_alnum(value.at[i]) && !strchr(".-_~:[]%", value.at[i]))
            return REFUSE_HOST;
    return REFUSE_NOT;
}

static enum http_refusal length_field(struct head *head, struct text value)
{
    int64_t length;
    if (++head->lengths > 1 || text_int(value, 0, INT64_MAX, &length) != OK || value.at[0] == '-')
        return REFUSE_LENGTH;
    head->body_len = (uint64_t)length;
    return REFUSE_NOT;
}

static enum http_refusal coding_field(struct head *head, struct text value)
{
    head->chunked = text_equal_nocase(value, TEXT("chunked"));
    return ++head->codings > 1 ? REFUSE_CODING_TWICE : REFUSE_NOT;
}

static enum http_refusal connection_field(struct head *head, struct text value)
{
    struct text token;
    while (text_next(&value, ',', &token)) {
        token = text_trim(token);
        head->close |= text_equal_nocase(token, TEXT("close"));
        head->keep_alive |= text_equal_nocase(token, TEXT("keep-alive"));
    }
    return REFUSE_NOT;
}

static enum http_refusal expect_field(struct head *head, struct text value)
{
    head->expects = true;
    return text_equal_nocase(value, TEXT("100-continue")) ? REFUSE_NOT : REFUSE_EXPECT;
}

static const struct {
    const char *name, *letters;
    enum http_refusal (*check)(struct head *head, struct text value);
} known_fields[] = {
    {"host", NULL, host_field},
    {"content-length", "contentlength", length_field},
    {"transfer-encoding", "transferencoding", coding_field},
    {"connection", NULL, connection_field},
    {"expect", NULL, expect_field},
};

/* NAME's letters and digits alone spell LETTERS: a lax neighbour may take it for that field. */
static bool spells(struct text name, const char *letters)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!is_alnum(name.at[i]))
            continue;
        char lower = name.at[i] >= 'A' && name.at[i] <= 'Z' ? (char)(name.at[i] | 0x20) : name.at[i];
        if (*letters == '\0' || lower != *letters++)
            return false;
    }
    return *letters == '\0';
}

static enum http_refusal field_line(struct head *head, const char *bytes, struct text line)
{
    if (line.at[0] == ' ' || line.at[0] == '\t')
        return REFUSE_FOLD;
    struct text name, value = line;
    if (!text_next(&value, ':', &name) || !value.at || !is_token(name))
        return REFUSE_FIELD;
    if (head->field_count == HEAD_FIELDS_MAX)
        return REFUSE_FIELDS;
    value = text_trim(value);
    head->fields[head->field_count++] = (struct head_field){(uint16_t)(name.at - bytes), (uint16_t)name.len,
                                                            (uint16_t)(value.at - bytes), (uint16_t)value.len};
    for (size_t i = 0; i < sizeof known_fields / sizeof known_fields[0]; i++) {
        if (text_equal_nocase(name, text_of(known_fields[i].name)))
            return known_fields[i].check(head, value);
        if (known_fields[i].letters && spells(name, known_fields[i].letters))
            return REFUSE_LOOKALIKE;
    }
    return REFUSE_NOT;
}

/* What only the whole block can show. */
static enum http_refusal block_check(const struct head *head)
{
    if (head->hosts != 1)
        return REFUSE_HOST;
    if (head->codings && head->lengths)
        return REFUSE_LENGTH_AND_CODING;
    if (head->codings && head->minor == 0)
        return REFUSE_CODING_OLD;
    if (head->codings && !head->chunked)
        return REFUSE_CODING;
    if (head_has_body(head) && !head->takes_body)
        return REFUSE_BODY_UNASKED;
    return head->body_len > HTTP_BODY_MAX ? REFUSE_BODY_LONG : REFUSE_NOT;
}

static enum http_refusal line_end(struct head *head, const char *bytes, size_t end)
{
    struct text line = {bytes + head->line_at, end - 1 - head->line_at};
    head->line_at = end + 1;
    if (head->lines++ == 0)
        return request_line(head, line);
    if (line.len > 0)
        return field_line(head, bytes, line);
    head->len = end + 1;
    return block_check(head);
}

static enum http_refusal byte_check(struct head *head, const char *bytes, size_t at)
{
    unsigned char c = (unsigned char)bytes[at];
    bool after_cr = at > head->line_at && bytes[at - 1] == '\r';
    if (after_cr != (c == '\n') || c == 0x7f || (c < ' ' && c != '\t' && c != '\r' && c != '\n'))
        return REFUSE_BYTES;
    if (head->lines > 0 || head->target_ended)
        return REFUSE_NOT;
    if (!head->target_at)
        head->target_at = c == ' ' ? at + 1 : 0;
    else if (c == ' ' || c == '\r')
        head->target_ended = true;
    else if (at - head->target_at >= HEAD_TARGET_MAX)
        return REFUSE_TARGET_LONG;
    return REFUSE_NOT;
}

void head_init(struct head *head)
{
    *head = (struct head){0};
}

enum head_state head_step(struct head *head, const char *bytes, size_t len)
{
    while (head->scanned < len && !head->len && head->refusal == REFUSE_NOT) {
        size_t at = head->scanned++;
        head->refusal = byte_check(head, bytes, at);
        if (head->refusal == REFUSE_NOT && bytes[at] == '\n')
            head->refusal = line_end(head, bytes, at);
        if (head->refusal == REFUSE_NOT && !head->len && head->scanned == HEAD_BYTES_MAX)
            head->refusal = REFUSE_HEAD_LONG;
    }
    return head->refusal != REFUSE_NOT ? HEAD_REFUSED : head->len ? HEAD_DONE : HEAD_MORE;
}

bool head_has_body(const struct head *head)
{
    return head->chunked || head->body_len > 0;
}

#include "common/base/log.h"

#include "common/base/buf.h"
#include "common/base/clock.h"

#include <inttypes.h>
#include <unistd.h>

static enum log_level threshold = LOG_INFO;
static bool as_json;
static uint64_t lost;

void log_setup(enum log_level level, bool json)
{
    threshold = level;
    as_json = json;
}

bool log_wants(enum log_level level)
{
    return level >= threshold;
}

uint64_t log_lost(void)
{
    return lost;
}

static bool is_plain(struct text text)
{
    return text.len > 0 && text_is_plain(text) && !memchr(text.at, '=', text.len);
}

static enum err write_text(struct buf *line, struct text text)
{
    if (!as_json && is_plain(text))
        return buf_text(line, text);
    enum err err = buf_text(line, TEXT("\""));
    if (err == OK)
        err = buf_json(line, text);
    return err == OK ? buf_text(line, TEXT("\"")) : err;
}

static enum err write_field(struct buf *line, const struct log_field *field)
{
    enum err err = as_json ? buf_format(line, ",\"%s\":", field->name) : buf_format(line, " %s=", field->name);
    if (err != OK)
        return err;
    if (field->kind == LOG_NUMBER)
        return buf_format(line, "%" PRId64, field->number);
    if (field->kind == LOG_REAL)
        return buf_format(line, "%.3f", field->real);
    return write_text(line, field->text);
}

void log_write(enum log_level level, const char *event, const struct log_field *fields)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    char instant[CLOCK_RFC3339_SIZE];
    static struct buf line = {.max = LOG_LINE_MAX}; /* kept: what happens without memory is said, too */
    if (!log_wants(level))
        return;
    line.len = 0;
    clock_rfc3339(instant, clock_wall_ms());
    enum err err = buf_reserve(&line, LOG_LINE_MAX);
    if (err == OK)
        err =
            buf_format(&line, as_json ? "{\"ts\":\"%s\",\"level\":\"%s\",\"event\":\"%s\"" : "ts=%s level=%s event=%s",
                       instant, levels[level], event);
    for (; err == OK && fields->name; fields++) {
        size_t start = line.len;
        if (fields->kind == LOG_TEXT && !fields->text.at)
            continue;
        err = write_field(&line, fields);
        if (err != OK || line.len > LOG_LINE_MAX - 2) { /* what does not fit is left out whole */
            line.len = start;
            err = OK;
        }
    }
    if (err == OK)
        err = buf_text(&line, as_json ? TEXT("}\n") : TEXT("\n"));
    if (err != OK || write(STDERR_FILENO, line.data, line.len) != (ssize_t)line.len)
        lost++;
}

#include "common/base/setting.h"

#include "common/base/log.h"

#include <string.h>

/* A brace in the prefix would become the key's hash tag and move every session to one slot. */
const char *setting_check_prefix(const char *value)
{
    for (const char *p = value; *p; p++)
        if (*p <= ' ' || *p > '~' || *p == '{' || *p == '}')
            return "must be of visible ASCII characters without braces";
    return NULL;
}

void setting_apply_log(const struct setting *setting)
{
    static const struct {
        const char *word;
        enum log_level level;
    } levels[] = {{"debug", LOG_DEBUG}, {"info", LOG_INFO}, {"warn", LOG_WARN}, {"error", LOG_ERROR}};
    enum log_level level = LOG_INFO;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strcmp(setting->log_level, levels[i].word) == 0)
            level = levels[i].level;
    log_setup(level, strcmp(setting->log_format, "json") == 0);
}

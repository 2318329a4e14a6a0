/** One line an event to stderr: logfmt ("ts= level= event= key=value…") or JSON. Values are quoted and escaped; a line
 * is cut at LOG_LINE_MAX. Never hand in a token, a ticket, a key or a password; users and client addresses at debug
 * only. */
#ifndef ANTEROOM_BASE_LOG_H
#define ANTEROOM_BASE_LOG_H

#include "common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define LOG_LINE_MAX 2048

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_field {
    const char *name;
    enum { LOG_TEXT, LOG_NUMBER, LOG_REAL } kind;
    struct text text;
    int64_t number;
    double real;
};

/** Global: level and format, and the names of the fields (all static). */
void log_setup(enum log_level level, bool json);
bool log_wants(enum log_level level);
/** Lines that could not be written (a full disk, a closed pipe); the process goes on. */
uint64_t log_lost(void);

#define LOG_S(name_, string) ((struct log_field){.name = (name_), .kind = LOG_TEXT, .text = text_of(string)})
#define LOG_T(name_, text_) ((struct log_field){.name = (name_), .kind = LOG_TEXT, .text = (text_)})
#define LOG_I(name_, value) ((struct log_field){.name = (name_), .kind = LOG_NUMBER, .number = (int64_t)(value)})
#define LOG_F(name_, value) ((struct log_field){.name = (name_), .kind = LOG_REAL, .real = (value)})

/** At least one field. log_event(LOG_INFO, "listening", LOG_S("name", "public"), LOG_S("address", bound)); texts absent
 * ({NULL,0}) are left out. */
#define log_event(level, event, ...) log_write(level, event, (struct log_field[]){__VA_ARGS__, {.name = NULL}})
void log_write(enum log_level level, const char *event, const struct log_field *fields);

#endif

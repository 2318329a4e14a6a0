/** A program's options: one typed table drives environment, flags, ranges, --help, --print-config and the docs. Every
 * option is ANTEROOM_NAME in the environment and --name on the command line; the flag wins. */
#ifndef ANTEROOM_BASE_OPTION_H
#define ANTEROOM_BASE_OPTION_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_TEXT,   /* char[MAX + 1] in the struct; MIN = least length */
    OPTION_SECRET, /* likewise, printed as *** */
    OPTION_INT,    /* int64_t in [MIN, MAX] */
    OPTION_WORD,   /* char[MAX + 1], one of WORDS */
    OPTION_FLAG,   /* bool: "on" or "off" */
};

struct option_def {
    const char *name; /* "REDIS_URL" */
    enum option_kind kind;
    size_t offset; /* of the field in the program's struct */
    int64_t min, max;
    const char *fallback; /* default as text; NULL = required */
    const char *help;     /* one sentence with its unit */
    const char *words;    /* OPTION_WORD: "off errors all" */
    /** More to check than kind and range; gives the reason or NULL. May be NULL. */
    const char *(*check)(const char *value);
};

struct option_table {
    const char *program; /* "anteroom-gateway" */
    const char *summary;
    const struct option_def *defs;
    size_t count;
    const char *const
        *foreign; /* names of the other programs' options: ignored in silence. NULL-terminated, may be NULL */
};

enum option_action { OPTION_RUN, OPTION_CHECK_CONFIG, OPTION_EXIT_OK, OPTION_EXIT_BAD };

#define OPTIONS_MAX 64

/** Where each value came from. */
enum option_source { SOURCE_DEFAULT, SOURCE_ENVIRONMENT, SOURCE_FLAG };

/** Fills VALUES (the program's struct). Prints --help, --version and --print-config itself (OPTION_EXIT_OK); a bad
 * value or an unknown flag prints one clear line to stderr (OPTION_EXIT_BAD: exit with 2). */
enum option_action options_read(const struct option_table *table, int argc, char **argv, char **environment,
                                const char *version, void *values);
/** The table as Markdown rows for docs/configuration.md. */
void options_markdown(const struct option_table *table, FILE *out);

#endif

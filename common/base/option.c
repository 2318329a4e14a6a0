#include "common/base/option.h"

#include "common/base/check.h"
#include "common/base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#define ENV_PREFIX "ANTEROOM_"
#define FLAG_NAME_MAX 64

struct reading {
    const struct option_table *table;
    void *values;
    enum option_source sources[OPTIONS_MAX];
    bool present[OPTIONS_MAX], strict_env, check, print;
};

static void flag_name(char dst[FLAG_NAME_MAX], const char *name)
{
    size_t i = 0;
    for (; i < FLAG_NAME_MAX - 1 && name[i]; i++)
        dst[i] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
    dst[i] = '\0';
}

static bool word_known(const char *words, struct text value)
{
    struct text rest = text_of(words), word;
    while (text_next(&rest, ' ', &word))
        if (text_equal(word, value))
            return true;
    return false;
}

/* NULL, or what is wrong with VALUE. */
static const char *option_set(void *values, const struct option_def *def, const char *value, char *reason, size_t size)
{
    void *at = (char *)values + def->offset;
    struct text text = text_of(value);
    const char *wrong = NULL;
    switch (def->kind) {
    case OPTION_INT:
        snprintf(reason, size, "must be a whole number from %" PRId64 " to %" PRId64, def->min, def->max);
        wrong = text_int(text, def->min, def->max, at) == OK ? NULL : reason;
        break;
    case OPTION_FLAG:
        wrong = word_known("on off", text) ? NULL : "must be on or off";
        *(bool *)at = text_is(text, "on");
        break;
    case OPTION_WORD:
        snprintf(reason, size, "must be one of: %s", def->words);
        wrong = word_known(def->words, text) && text_copy(at, (size_t)def->max + 1, text) == OK ? NULL : reason;
        break;
    case OPTION_TEXT:
    case OPTION_SECRET:
        snprintf(reason, size, "must have %" PRId64 " to %" PRId64 " characters", def->min, def->max);
        wrong = (int64_t)text.len >= def->min && text_copy(at, (size_t)def->max + 1, text) == OK ? NULL : reason;
        break;
    }
    return wrong || !def->check ? wrong : def->check(value);
}

static bool option_take(struct reading *reading, size_t index, const char *value, enum option_source source)
{
    const struct option_def *def = &reading->table->defs[index];
    char reason[256], flag[FLAG_NAME_MAX];
    const char *wrong = option_set(reading->values, def, value, reason, sizeof reason);
    reading->sources[index] = source;
    reading->present[index] = true;
    if (!wrong)
        return true;
    flag_name(flag, def->name);
    if (source == SOURCE_FLAG)
        fprintf(stderr, "%s: --%s %s\n", reading->table->program, flag, wrong);
    else
        fprintf(stderr, "%s: " ENV_PREFIX "%s %s\n", reading->table->program, def->name, wrong);
    return false;
}

/* Edit distance, for "did you mean". Names are short. */
static size_t distance(const char *a, const char *b)
{
    size_t row[FLAG_NAME_MAX + 1], la = strnlen(a, FLAG_NAME_MAX), lb = strnlen(b, FLAG_NAME_MAX);
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[lb];
}

static const char *nearest(const struct option_table *table, const char *name)
{
    const char *best = table->defs[0].name;
    for (size_t i = 1; i < table->count; i++)
        if (distance(table->defs[i].name, name) < distance(best, name))
            best = table->defs[i].name;
    return best;
}

static bool is_foreign(const struct option_table *table, struct text name)
{
    for (const char *const *foreign = table->foreign; foreign && *foreign; foreign++)
        if (text_is(name, *foreign))
            return true;
    return false;
}

static bool read_environment(struct reading *reading, char **environment)
{
    bool good = true;
    for (; *environment; environment++) {
        const char *entry = *environment, *equals = strchr(entry, '=');
        if (strncmp(entry, ENV_PREFIX, strlen(ENV_PREFIX)) != 0 || !equals)
            continue;
        struct text name = {entry + strlen(ENV_PREFIX), (size_t)(equals - entry) - strlen(ENV_PREFIX)};
        size_t i = 0;
        while (i < reading->table->count && !text_is(name, reading->table->defs[i].name))
            i++;
        if (i < reading->table->count) {
            good = option_take(reading, i, equals + 1, SOURCE_ENVIRONMENT) && good;
        } else if (!is_foreign(reading->table, name)) {
            char copy[FLAG_NAME_MAX];
            if (text_copy(copy, sizeof copy, name) != OK)
                memcpy(copy, "?", 2);
            fprintf(stderr, "%s: unknown variable " ENV_PREFIX "%s; the nearest is " ENV_PREFIX "%s\n",
                    reading->table->program, copy, nearest(reading->table, copy));
            good = good && !reading->strict_env;
        }
    }
    return good;
}

/* The next argument; a switch may stand alone and then is on. */
static const char *flag_value(const struct option_def *def, int argc, char **argv, int *i)
{
    const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
    if (def->kind == OPTION_FLAG && (!next || !word_known("on off", text_of(next))))
        return "on";
    if (next)
        ++*i;
    return next;
}

static bool read_flag(struct reading *reading, int argc, char **argv, int *i)
{
    const char *arg = argv[*i], *equals = strchr(arg, '=');
    char flag[FLAG_NAME_MAX];
    struct text name = {arg, equals ? (size_t)(equals - arg) : strlen(arg)};
    for (size_t d = 0; d < reading->table->count && text_starts(name, "--"); d++) {
        flag_name(flag, reading->table->defs[d].name);
        if (!text_equal((struct text){name.at + 2, name.len - 2}, text_of(flag)))
            continue;
        const char *value = equals ? equals + 1 : flag_value(&reading->table->defs[d], argc, argv, i);
        if (!value) {
            fprintf(stderr, "%s: --%s needs a value\n", reading->table->program, flag);
            return false;
        }
        if (reading->table->defs[d].kind == OPTION_SECRET && strchr(value, '@')) {
            const char *colon = strstr(value, "://");
            const char *at = colon ? strchr(colon, '@') : NULL;
            if (at && memchr(colon + 3, ':', (size_t)(at - colon - 3))) {
                fprintf(stderr,
                        "%s: --%s must not hold a password (other users can see it): use " ENV_PREFIX "%s or a file\n",
                        reading->table->program, flag, reading->table->defs[d].name);
                return false;
            }
        }
        return option_take(reading, d, value, SOURCE_FLAG);
    }
    fprintf(stderr, "%s: unknown argument %.*s (--help lists them)\n", reading->table->program, (int)name.len, name.at);
    return false;
}

static void print_help(const struct option_table *table)
{
    char flag[FLAG_NAME_MAX];
    printf(
        "%s: %s\n\nEvery option is also an environment variable: --redis-url is ANTEROOM_REDIS_URL. The flag wins.\n\n",
        table->program, table->summary);
    for (size_t i = 0; i < table->count; i++) {
        const struct option_def *def = &table->defs[i];
        flag_name(flag, def->name);
        printf("  --%-22s %s\n", flag, def->help);
        printf("    %-22s ", "");
        if (!def->fallback)
            printf("required");
        else
            printf("default: %s", def->fallback[0] ? def->fallback : "none");
        if (def->kind == OPTION_INT)
            printf("; %" PRId64 " to %" PRId64, def->min, def->max);
        if (def->kind == OPTION_WORD)
            printf("; one of: %s", def->words);
        printf("\n");
    }
    printf("\n  --check-config, --print-config, --strict-env, --version, --help\n");
}

static void print_values(const struct reading *reading)
{
    static const char *const sources[] = {"default", "environment", "flag"};
    for (size_t i = 0; i < reading->table->count; i++) {
        const struct option_def *def = &reading->table->defs[i];
        const void *at = (const char *)reading->values + def->offset;
        printf("%s=", def->name);
        if (def->kind == OPTION_INT)
            printf("%" PRId64, *(const int64_t *)at);
        else if (def->kind == OPTION_FLAG)
            printf("%s", *(const bool *)at ? "on" : "off");
        else if (def->kind == OPTION_SECRET && *(const char *)at)
            printf("***");
        else
            printf("%s", (const char *)at);
        printf(" (%s)\n", sources[reading->sources[i]]);
    }
}

static bool take_defaults(struct reading *reading)
{
    char reason[256];
    for (size_t i = 0; i < reading->table->count; i++) {
        const struct option_def *def = &reading->table->defs[i];
        if (def->fallback && def->fallback[0]) {
            const char *wrong = option_set(reading->values, def, def->fallback, reason, sizeof reason);
            CHECK(!wrong);
        }
    }
    return true;
}

static bool all_required(const struct reading *reading)
{
    bool good = true;
    char flag[FLAG_NAME_MAX];
    for (size_t i = 0; i < reading->table->count; i++) {
        if (reading->table->defs[i].fallback || reading->present[i])
            continue;
        flag_name(flag, reading->table->defs[i].name);
        fprintf(stderr, "%s: --%s (" ENV_PREFIX "%s) is required: %s\n", reading->table->program, flag,
                reading->table->defs[i].name, reading->table->defs[i].help);
        good = false;
    }
    return good;
}

enum option_action options_read(const struct option_table *table, int argc, char **argv, char **environment,
                                const char *version, void *values)
{
    struct reading reading = {.table = table, .values = values};
    CHECK(table->count <= OPTIONS_MAX);
    take_defaults(&reading);
    for (int i = 1; i < argc; i++) {
        struct text arg = text_of(argv[i]);
        if (text_is(arg, "--help")) {
            print_help(table);
            return OPTION_EXIT_OK;
        }
        if (text_is(arg, "--version")) {
            printf("%s %s\n", table->program, version);
            return OPTION_EXIT_OK;
        }
        if (text_is(arg, "--help-markdown")) {
            options_markdown(table, stdout);
            return OPTION_EXIT_OK;
        }
        reading.strict_env = reading.strict_env || text_is(arg, "--strict-env");
    }
    if (!read_environment(&reading, environment))
        return OPTION_EXIT_BAD;
    for (int i = 1; i < argc; i++) {
        struct text arg = text_of(argv[i]);
        if (text_is(arg, "--check-config"))
            reading.check = true;
        else if (text_is(arg, "--print-config"))
            reading.print = true;
        else if (!text_is(arg, "--strict-env") && !read_flag(&reading, argc, argv, &i))
            return OPTION_EXIT_BAD;
    }
    if (reading.print) {
        print_values(&reading);
        return OPTION_EXIT_OK;
    }
    if (!all_required(&reading))
        return OPTION_EXIT_BAD;
    return reading.check ? OPTION_CHECK_CONFIG : OPTION_RUN;
}

void options_markdown(const struct option_table *table, FILE *out)
{
    fprintf(out, "## %s\n\n| variable and flag | default | range | meaning |\n|---|---|---|---|\n", table->program);
    for (size_t i = 0; i < table->count; i++) {
        const struct option_def *def = &table->defs[i];
        char flag[FLAG_NAME_MAX], range[64] = "";
        flag_name(flag, def->name);
        if (def->kind == OPTION_INT)
            snprintf(range, sizeof range, "%" PRId64 " to %" PRId64, def->min, def->max);
        fprintf(out, "| `ANTEROOM_%s` `--%s` | %s%s%s | %s | %s |\n", def->name, flag,
                def->fallback && def->fallback[0] ? "`" : "",
                !def->fallback     ? "required"
                : def->fallback[0] ? def->fallback
                                   : "none",
                def->fallback && def->fallback[0] ? "`" : "",
                def->words                 ? def->words
                : def->kind == OPTION_FLAG ? "on off"
                                           : range,
                def->help);
    }
}

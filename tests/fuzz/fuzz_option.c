/* The command line and the environment. First line: which program, then one argument or variable a line ("-…" and the
 * words behind it are arguments, the rest variables). Whatever is said: what is taken is within its kind and range, is
 * shown in a form that is taken again to the same values, by flag and by variable alike, and the flag wins. */
#include "tests/fuzz/fuzz.h"

#include "common/base/option.h"
#include "gateway/options.h"
#include "publisher/options.h"

#include <stdio.h>
#include <stdlib.h>

#define WORDS_MAX 24
#define WORD_MAX 3000

static union {
    struct gateway_options gateway;
    struct publisher_options publisher;
} first, again;

struct words {
    char *at[WORDS_MAX + 1];
    int count;
};

static void word_add(struct words *words, struct text text)
{
    if (words->count == WORDS_MAX || text.len > WORD_MAX)
        return;
    char *copy = calloc(1, text.len + 1);
    CHECK(copy);
    if (text.len)
        memcpy(copy, text.at, text.len);
    words->at[words->count++] = copy;
}

static void words_free(struct words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->at[i]);
    *words = (struct words){.count = 0};
}

/* What is printed is not looked at, and there is much of it. */
static enum option_action read_quietly(const struct option_table *table, int argc, char **argv, char **environment,
                                       void *values)
{
    static FILE *quiet;
    FILE *out = stdout, *err = stderr;
    if (!quiet)
        quiet = fopen("/dev/null", "w");
    CHECK(quiet);
    stdout = stderr = quiet;
    enum option_action action = options_read(table, argc, argv, environment, "0", values);
    stdout = out;
    stderr = err;
    return action;
}

static const void *field(const struct option_def *def, const void *values)
{
    return (const char *)values + def->offset;
}

/* VALUE of DEF as text; false: a flag that holds a password is refused, so it is left out. */
static bool value_text(const struct option_def *def, const void *values, char *dst, size_t size)
{
    const void *at = field(def, values);
    if (def->kind == OPTION_INT)
        snprintf(dst, size, "%lld", (long long)*(const int64_t *)at);
    else if (def->kind == OPTION_FLAG)
        snprintf(dst, size, "%s", *(const bool *)at ? "on" : "off");
    else
        snprintf(dst, size, "%s", (const char *)at);
    return def->kind != OPTION_SECRET;
}

static void value_holds(const struct option_def *def, const void *values)
{
    const void *at = field(def, values);
    struct text rest = text_of(def->words), word;
    bool known = def->kind != OPTION_WORD;
    if (def->kind == OPTION_INT)
        CHECK(*(const int64_t *)at >= def->min && *(const int64_t *)at <= def->max);
    if (def->kind == OPTION_TEXT || def->kind == OPTION_SECRET || def->kind == OPTION_WORD)
        CHECK(strnlen(at, (size_t)def->max + 1) <= (size_t)def->max);
    while (!known && text_next(&rest, ' ', &word))
        known = text_is(word, at);
    CHECK(known);
    if (def->check && (def->kind == OPTION_TEXT || def->kind == OPTION_SECRET) && *(const char *)at)
        CHECK(!def->check(at));
}

static bool same(const struct option_table *table, const void *a, const void *b)
{
    char one[WORD_MAX], other[WORD_MAX];
    for (size_t i = 0; i < table->count; i++) {
        value_text(&table->defs[i], a, one, sizeof one);
        value_text(&table->defs[i], b, other, sizeof other);
        if (strcmp(one, other) != 0)
            return false;
    }
    return true;
}

/* Everything by flags, everything by variables, and by flags over variables that say something else. */
static void round_trip(const struct option_table *table)
{
    char flags[OPTIONS_MAX][WORD_MAX], variables[OPTIONS_MAX][WORD_MAX],
        *argv[OPTIONS_MAX + 2] = {(char *)(uintptr_t) "x"};
    char value[WORD_MAX], *environment[OPTIONS_MAX + 1], *none[] = {NULL};
    int argc = 1, count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct option_def *def = &table->defs[i];
        bool by_flag = value_text(def, &first, value, sizeof value);
        if (!value[0] && def->min > 0)
            continue; /* never given: it has no default */
        snprintf(variables[i], sizeof variables[i], "ANTEROOM_%s=%.2900s", def->name, value);
        environment[count++] = variables[i];
        snprintf(flags[i], sizeof flags[i], "--%s=%.2900s", def->name, value);
        for (char *p = flags[i] + 2; *p && *p != '='; p++)
            *p = *p == '_' ? '-' : (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
        if (by_flag)
            argv[argc++] = flags[i];
    }
    argv[argc] = environment[count] = NULL;
    memset(&again, 0, sizeof again);
    CHECK(read_quietly(table, 1, argv, environment, &again) == OPTION_RUN && same(table, &first, &again));
    if (strstr(first.gateway.common.redis_url, "@"))
        return; /* a password is for the environment */
    memset(&again, 0, sizeof again);
    memcpy(again.gateway.common.redis_url, first.gateway.common.redis_url, sizeof again.gateway.common.redis_url);
    snprintf(value, sizeof value, "--redis-url=%s", first.gateway.common.redis_url);
    argv[argc++] = value;
    argv[argc] = NULL;
    CHECK(read_quietly(table, argc, argv, none, &again) == OPTION_RUN && same(table, &first, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {{(const char *)data, size}};
    struct words arguments = {.count = 0}, environment = {.count = 0};
    bool gateway = input_number(&input) % 2 == 0;
    const struct option_table *table = gateway ? &gateway_option_table : &publisher_option_table;
    struct text line;
    word_add(&arguments, TEXT("program"));
    for (bool flags = false; text_next(&input.rest, '\n', &line);) {
        flags = flags || text_starts(line, "-");
        word_add(flags ? &arguments : &environment, line);
    }
    memset(&first, 0, sizeof first);
    enum option_action action = read_quietly(table, arguments.count, arguments.at, environment.at, &first);
    if (action == OPTION_RUN || action == OPTION_CHECK_CONFIG) {
        for (size_t i = 0; i < table->count; i++)
            value_holds(&table->defs[i], &first);
        round_trip(table);
    }
    words_free(&arguments);
    words_free(&environment);
    return 0;
}

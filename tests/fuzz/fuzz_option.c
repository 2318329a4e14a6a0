/* The command line and the environment. Eight bytes: which program, and whether what it requires is there; then one
 * variable or argument a line ("-…" and all behind it are arguments). Whatever is said: what is taken is within its
 * kind and range, is shown in a form that is taken again to the same values, by flag and by variable alike, and the
 * flag wins. */
#include "tests/fuzz/fuzz.h"

#include "common/base/option.h"
#include "gateway/options.h"
#include "publisher/options.h"

#include <stdio.h>
#include <stdlib.h>

#define WORDS_MAX 24
#define WORD_MAX 8000

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

/* A value of DEF as text. */
static void value_text(const struct option_def *def, const void *values, char *dst, size_t size)
{
    const void *at = field(def, values);
    if (def->kind == OPTION_INT)
        snprintf(dst, size, "%lld", (long long)*(const int64_t *)at);
    else if (def->kind == OPTION_FLAG)
        snprintf(dst, size, "%s", *(const bool *)at ? "on" : "off");
    else
        snprintf(dst, size, "%s", (const char *)at);
}

/* Another one that DEF takes, where there is one. */
static void value_contrary(const struct option_def *def, const char *value, char *dst, size_t size)
{
    if (def->kind == OPTION_FLAG)
        snprintf(dst, size, "%s", strcmp(value, "on") == 0 ? "off" : "on");
    else if (def->kind == OPTION_INT)
        snprintf(dst, size, "%lld", (long long)def->max);
    else
        snprintf(dst, size, "%s", def->fallback ? def->fallback : value);
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
    char one[WORD_MAX / 2], other[WORD_MAX / 2];
    for (size_t i = 0; i < table->count; i++) {
        value_text(&table->defs[i], a, one, sizeof one);
        value_text(&table->defs[i], b, other, sizeof other);
        if (strcmp(one, other) != 0)
            return false;
    }
    return true;
}

static void read_same(const struct option_table *table, int argc, char **argv, char **environment)
{
    memset(&again, 0, sizeof again);
    CHECK(read_quietly(table, argc, argv, environment, &again) == OPTION_RUN && same(table, &first, &again));
}

/* Everything by variables, by flags, and by flags while the variables say something else. */
static void round_trip(const struct option_table *table)
{
    static char flags[OPTIONS_MAX][WORD_MAX], right[OPTIONS_MAX][WORD_MAX], wrong[OPTIONS_MAX][WORD_MAX];
    char value[WORD_MAX / 2], other[WORD_MAX / 2], *argv[OPTIONS_MAX + 2] = {(char *)(uintptr_t) "program"};
    char *variables[OPTIONS_MAX + 1], *contrary[OPTIONS_MAX + 1], *none[] = {NULL};
    int argc = 1, count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct option_def *def = &table->defs[i];
        value_text(def, &first, value, sizeof value);
        value_contrary(def, value, other, sizeof other);
        if (!def->fallback && !value[0])
            continue;
        snprintf(right[i], WORD_MAX, "ANTEROOM_%s=%s", def->name, value);
        snprintf(wrong[i], WORD_MAX, "ANTEROOM_%s=%s", def->name, other);
        snprintf(flags[i], WORD_MAX, "--%s=%s", def->name, value);
        for (char *p = flags[i] + 2; *p != '='; p++)
            *p = *p == '_' ? '-' : (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
        variables[count] = right[i];
        contrary[count++] = wrong[i];
        argv[argc++] = flags[i];
    }
    argv[argc] = variables[count] = contrary[count] = NULL;
    read_same(table, 1, argv, variables);
    if (strchr(first.gateway.common.redis_url, '@'))
        return; /* a password is for the environment */
    read_same(table, argc, argv, none);
    read_same(table, argc, argv, contrary);
}

static const char *const required[] = {"ANTEROOM_ENTRY_KEY_FILE=/k", "ANTEROOM_TICKET_KEY_FILE=/t",
                                       "ANTEROOM_ADMIN_TOKEN_FILE=/a"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {{(const char *)data, size}};
    struct words arguments = {.count = 0}, environment = {.count = 0};
    uint64_t start = input_number(&input);
    const struct option_table *table = start % 2 ? &gateway_option_table : &publisher_option_table;
    struct text line;
    word_add(&arguments, TEXT("program"));
    for (size_t i = 0; i < 3 && start % 8 < 4; i++) /* mostly, or little would be looked at */
        word_add(&environment, text_of(required[i]));
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

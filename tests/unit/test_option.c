#include "common/base/option.h"
#include "tests/support/unit.h"

struct values {
    char name[9], secret[64], word[8];
    int64_t number;
    bool flag;
};

#define FIELD(field) offsetof(struct values, field)
static const struct option_def defs[] = {
    {"NAME", OPTION_TEXT, FIELD(name), 1, 8, "bob", "A name.", NULL, NULL},
    {"URL", OPTION_SECRET, FIELD(secret), 0, 63, "", "A URL.", NULL, NULL},
    {"WORD", OPTION_WORD, FIELD(word), 0, 7, "red", "A word.", "red green", NULL},
    {"NUMBER", OPTION_INT, FIELD(number), 1, 10, "5", "A number.", NULL, NULL},
    {"FLAG", OPTION_FLAG, FIELD(flag), 0, 0, "off", "A switch.", NULL, NULL},
};
static const char *const foreign[] = {"ELSEWHERE", NULL};
static const struct option_table table = {"program", "a test.", defs, ROWS(defs), foreign};

static enum option_action read_args(struct values *values, const char **environment, int argc, const char **argv)
{
    memset(values, 0, sizeof *values);
    return options_read(&table, argc, (char **)(uintptr_t)argv, (char **)(uintptr_t)environment, "1", values);
}

#define READ(values, environment, ...)                                                                        \
    read_args((values), (const char *[]){environment, NULL}, (int)ROWS(((const char *[]){"p", __VA_ARGS__})), \
              (const char *[]){"p", __VA_ARGS__, NULL})

static void defaults_environment_and_flags_in_rising_order(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(READ(&values, NULL, "--flag"), OPTION_RUN);
    assert_string_equal(values.name, "bob");
    assert_int_equal(values.number, 5);
    assert_true(values.flag);
    assert_int_equal(READ(&values, "ANTEROOM_NUMBER=7", "--name=eve"), OPTION_RUN);
    assert_int_equal(values.number, 7);
    assert_int_equal(READ(&values, "ANTEROOM_NUMBER=7", "--number", "9"), OPTION_RUN);
    assert_int_equal(values.number, 9);
    assert_int_equal(READ(&values, NULL, "--flag", "off", "--word", "green"), OPTION_RUN);
    assert_false(values.flag);
    assert_string_equal(values.word, "green");
}

static void a_bad_value_or_flag_stops_the_start(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(READ(&values, NULL, "--number=0"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--number=11"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--number=1x"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--number"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--word=blue"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--flag=maybe"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--name=123456789"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--name="), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--nonsense"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "nonsense"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, "ANTEROOM_NUMBER=0", "--flag"), OPTION_EXIT_BAD);
}

static void unknown_variables_warn_and_stop_only_a_strict_start(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(READ(&values, "ANTEROOM_NUMBR=1", "--flag"), OPTION_RUN);
    assert_int_equal(READ(&values, "ANTEROOM_NUMBR=1", "--strict-env"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, "ANTEROOM_ELSEWHERE=1", "--strict-env"), OPTION_RUN);
    assert_int_equal(READ(&values, "PATH=1", "--strict-env"), OPTION_RUN);
}

static void a_password_on_the_command_line_is_refused(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(READ(&values, NULL, "--url=redis://user:secret@host"), OPTION_EXIT_BAD);
    assert_int_equal(READ(&values, NULL, "--url=redis://user@host"), OPTION_RUN);
    assert_int_equal(READ(&values, "ANTEROOM_URL=redis://user:secret@host", "--flag"), OPTION_RUN);
}

static void checking_and_printing_do_not_run(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(READ(&values, NULL, "--check-config"), OPTION_CHECK_CONFIG);
    assert_int_equal(READ(&values, NULL, "--print-config"), OPTION_EXIT_OK);
    assert_int_equal(READ(&values, NULL, "--version"), OPTION_EXIT_OK);
    assert_int_equal(READ(&values, NULL, "--help"), OPTION_EXIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_environment_and_flags_in_rising_order),
        cmocka_unit_test(a_bad_value_or_flag_stops_the_start),
        cmocka_unit_test(unknown_variables_warn_and_stop_only_a_strict_start),
        cmocka_unit_test(a_password_on_the_command_line_is_refused),
        cmocka_unit_test(checking_and_printing_do_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

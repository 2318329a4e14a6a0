#include "common/base/log.h"
#include "tests/support/unit.h"

#include <jansson.h>
#include <unistd.h>

/* What one call writes to stderr. */
static size_t captured(char *dst, size_t size, void (*write_it)(void))
{
    int ends[2], kept = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    write_it();
    dup2(kept, STDERR_FILENO);
    close(ends[1]);
    close(kept);
    ssize_t len = read(ends[0], dst, size - 1);
    close(ends[0]);
    dst[len > 0 ? len : 0] = '\0';
    return len > 0 ? (size_t)len : 0;
}

static void write_odd(void)
{
    log_event(LOG_INFO, "odd", LOG_S("plain", "a.b:c"), LOG_S("quoted", "a b\"\n\x1b[31m\xff="), LOG_S("empty", ""),
              LOG_T("absent", ((struct text){NULL, 0})), LOG_I("number", -5), LOG_F("real", 1.5));
}

static void write_long(void)
{
    static char text[3 * LOG_LINE_MAX];
    memset(text, 'x', sizeof text - 1);
    log_event(LOG_WARN, "long", LOG_S("before", "1"), LOG_S("text", text), LOG_S("after", "2"));
}

static void write_debug(void)
{
    log_event(LOG_DEBUG, "quiet", LOG_I("n", 1));
}

static void values_cannot_forge_lines_or_fields(void **state)
{
    (void)state;
    char line[2 * LOG_LINE_MAX];
    log_setup(LOG_INFO, false);
    captured(line, sizeof line, write_odd);
    assert_non_null(strstr(line, " level=info event=odd plain=a.b:c quoted=\"a b\\\"\\u000a\\u001b[31m\xef\xbf\xbd=\" "
                                 "empty=\"\" number=-5 real=1.500\n"));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    log_setup(LOG_INFO, true);
    captured(line, sizeof line, write_odd);
    json_t *json = json_loads(line, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "event")), "odd");
    assert_int_equal(json_integer_value(json_object_get(json, "number")), -5);
    json_decref(json);
    log_setup(LOG_INFO, false);
}

static void what_does_not_fit_is_left_out_whole(void **state)
{
    (void)state;
    char line[2 * LOG_LINE_MAX];
    size_t len = captured(line, sizeof line, write_long);
    assert_true(len > 0 && len <= LOG_LINE_MAX);
    assert_non_null(strstr(line, "before=1 after=2\n"));
}

static void levels_below_the_wanted_one_are_silent(void **state)
{
    (void)state;
    char line[256];
    assert_int_equal(captured(line, sizeof line, write_debug), 0);
    log_setup(LOG_DEBUG, false);
    assert_true(captured(line, sizeof line, write_debug) > 0);
    log_setup(LOG_INFO, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_cannot_forge_lines_or_fields),
        cmocka_unit_test(what_does_not_fit_is_left_out_whole),
        cmocka_unit_test(levels_below_the_wanted_one_are_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

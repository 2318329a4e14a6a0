#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/http/cookie.h"

static void cookies_are_found_by_their_whole_name(void **state)
{
    static const struct {
        const char *header, *name, *value; /* NULL: absent */
    } rows[] = {
        {"a=1", "a", "1"},
        {"a=1; b=2", "b", "2"},
        {"a=1;b=2;a=3", "a", "1"},
        {"a=1; ab=2", "ab", "2"},
        {"ab=2", "a", NULL},
        {"A=1", "a", NULL},
        {"a=", "a", ""},
        {"a", "a", NULL},
        {"a=b=c", "a", "b=c"},
        {" a = 1 ", "a", "1"},
        {"", "a", NULL},
        {";;;a=1", "a", "1"},
        {"__Host-x_42=ey.J", "__Host-x_42", "ey.J"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text value = cookie_find(text_of(rows[i].header), rows[i].name);
        assert_int_equal(value.at == NULL, rows[i].value == NULL);
        if (rows[i].value)
            assert_true(text_is(value, rows[i].value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cookies_are_found_by_their_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

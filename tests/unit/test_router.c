#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/http/router.h"

static const struct route routes[] = {
    {"GET", "/", "root", 0, NULL},
    {"GET", "/a", "a", 0, NULL},
    {"POST", "/a", "a_post", 0, NULL},
    {"GET", "/a/{x}", "x", 0, NULL},
    {"PUT", "/a/{x}", "x_put", 0, NULL},
    {"PUT", "/a/{y}", "never", 0, NULL},
    {"DELETE", "/s/{session}/places/{place}", "place", 0, NULL},
};

static void routes_are_found_by_method_and_path(void **state)
{
    static const struct {
        const char *method, *path, *name; /* NULL: none */
        const char *allow;                /* when the path is known */
    } rows[] = {
        {"GET", "/", "root", NULL},
        {"GET", "/a", "a", NULL},
        {"POST", "/a", "a_post", NULL},
        {"DELETE", "/a", NULL, "GET, POST"},
        {"HEAD", "/a", NULL, "GET, POST"},
        {"get", "/a", NULL, "GET, POST"},
        {"GET", "/a/", NULL, NULL},
        {"GET", "/a/b", "x", NULL},
        {"PUT", "/a/b", "x_put", NULL},
        {"POST", "/a/b", NULL, "GET, PUT"},
        {"GET", "/a/b/", NULL, NULL},
        {"GET", "//a", NULL, NULL},
        {"GET", "/A", NULL, NULL},
        {"GET", "/a/{x}", "x", NULL},
        {"DELETE", "/s/42/places/7", "place", NULL},
        {"DELETE", "/s//places/7", NULL, NULL},
        {"DELETE", "/s/42/places", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct route_match match;
        router_find(routes, sizeof routes / sizeof routes[0], text_of(rows[i].method), text_of(rows[i].path), &match);
        assert_int_equal(match.route != NULL, rows[i].name != NULL);
        if (rows[i].name)
            assert_string_equal(match.route->name, rows[i].name);
        else
            assert_int_equal(match.path_known, rows[i].allow != NULL);
        if (rows[i].allow)
            assert_string_equal(match.allow, rows[i].allow);
    }
}

static void parameters_are_taken_raw(void **state)
{
    struct route_match match;
    (void)state;
    router_find(routes, sizeof routes / sizeof routes[0], TEXT("DELETE"), TEXT("/s/a%2Fb/places/7"), &match);
    assert_int_equal(match.param_count, 2);
    assert_true(text_is(match.names[0], "session") && text_is(match.values[0], "a%2Fb"));
    assert_true(text_is(match.names[1], "place") && text_is(match.values[1], "7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_found_by_method_and_path),
        cmocka_unit_test(parameters_are_taken_raw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

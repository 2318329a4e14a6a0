#include "common/redis/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct good {
    const char *text, *shown;
    struct redis_url url;
};

static const struct good goods[] = {
    {"redis://localhost", "redis://localhost:6379/0", {.host = "localhost", .port = "6379"}},
    {"redis://10.0.0.1:7000/", "redis://10.0.0.1:7000/0", {.host = "10.0.0.1", .port = "7000"}},
    {"redis://cache_1.example.com/3",
     "redis://cache_1.example.com:6379/3",
     {.host = "cache_1.example.com", .port = "6379", .db = 3}},
    {"rediss://a:65535/2147483647",
     "rediss://a:65535/2147483647",
     {.tls = true, .host = "a", .port = "65535", .db = 2147483647}},
    {"redis://[::1]", "redis://[::1]:6379/0", {.host = "::1", .port = "6379"}},
    {"redis://[fe80::1%eth0]:1/2", "redis://[fe80::1%eth0]:1/2", {.host = "fe80::1%eth0", .port = "1", .db = 2}},
    {"redis://:secret@h", "redis://:***@h:6379/0", {.host = "h", .port = "6379", .password = "secret"}},
    {"redis://user:secret@h:1",
     "redis://user:***@h:1/0",
     {.host = "h", .port = "1", .user = "user", .password = "secret"}},
    {"redis://u%40x:a%2Fb%3A%25@h",
     "redis://u@x:***@h:6379/0",
     {.host = "h", .port = "6379", .user = "u@x", .password = "a/b:%"}},
    {"redis://u:p:q@r@h", "redis://u:***@h:6379/0", {.host = "h", .port = "6379", .user = "u", .password = "p:q@r"}},
    {"redis://:a+b@h", "redis://:***@h:6379/0", {.host = "h", .port = "6379", .password = "a+b"}},
    {"unix:///run/redis.sock", "unix:///run/redis.sock", {.path = "/run/redis.sock"}},
    {"unix:///run/my%20redis.sock?db=4", "unix:///run/my redis.sock?db=4", {.path = "/run/my redis.sock", .db = 4}},
};

static void a_good_url_is_taken_apart_and_shown_without_its_password(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
        struct redis_url url;
        const char *why = NULL;
        char shown[512];
        print_message("  %s\n", goods[i].text);
        assert_int_equal(redis_url_parse(&url, text_of(goods[i].text), &why), OK);
        assert_int_equal(url.tls, goods[i].url.tls);
        assert_int_equal(url.db, goods[i].url.db);
        assert_string_equal(url.path, goods[i].url.path);
        assert_string_equal(url.host, goods[i].url.host);
        assert_string_equal(url.port, goods[i].url.port);
        assert_string_equal(url.user, goods[i].url.user);
        assert_string_equal(url.password, goods[i].url.password);
        redis_url_show(&url, shown, sizeof shown);
        assert_string_equal(shown, goods[i].shown);
    }
}

static void a_bad_url_is_refused_with_a_reason_that_keeps_the_password(void **state)
{
    (void)state;
    static const char *const bads[] = {
        "",
        "localhost",
        "http://localhost",
        "REDIS://localhost",
        "redis:/localhost",
        "redis://",
        "redis:///0",
        "redis://:secret@",
        "redis://user@h",
        "redis://user:@h",
        "redis://u%0ax:secret@h",
        "redis://:secret%@h",
        "redis://:secret%4@h",
        "redis://:secret%00@h",
        "redis://:sec/ret@h",
        "redis://:secret?@h",
        "redis://:secret#@h",
        "redis://h:",
        "redis://h:0",
        "redis://h:65536",
        "redis://h:1:2",
        "redis://h:x",
        "redis://h o",
        "redis://[::1",
        "redis://[::1]x",
        "redis://[]",
        "redis://::1",
        "redis://h/x",
        "redis://h/-1",
        "redis://h/1/2",
        "redis://h/2147483648",
        "redis://h/0?db=1",
        "unix://",
        "unix://run/redis.sock",
        "unix:///run/redis.sock?",
        "unix:///run/redis.sock?db=",
        "unix:///run/redis.sock?db=x",
        "unix:///run/redis.sock?database=1",
        "unix:///run/%0a",
    };
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        struct redis_url url;
        const char *why = NULL;
        print_message("  %s\n", bads[i]);
        assert_int_equal(redis_url_parse(&url, text_of(bads[i]), &why), ERR_INVALID);
        assert_true(why && why[0]);
        assert_null(strstr(why, "secret"));
    }
}

static enum err parse_long(const char *format, int len)
{
    char text[1024];
    struct redis_url url;
    const char *why;
    char filler[600];
    memset(filler, 'a', sizeof filler);
    filler[len] = '\0';
    int total = snprintf(text, sizeof text, "%.*s%s%s", (int)(strchr(format, '*') - format), format, filler,
                         strchr(format, '*') + 1);
    assert_true(total > 0 && (size_t)total < sizeof text);
    return redis_url_parse(&url, text_of(text), &why);
}

static void each_part_has_a_longest_length(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        int longest;
    } parts[] = {
        {"redis://*", 255},
        {"redis://*:p@h", 127},
        {"redis://:*@h", 255},
        {"unix:///*", 106},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_int_equal(parse_long(parts[i].format, parts[i].longest), OK);
        assert_int_equal(parse_long(parts[i].format, parts[i].longest + 1), ERR_INVALID);
    }
}

static void showing_into_a_short_buffer_cuts(void **state)
{
    (void)state;
    struct redis_url url;
    const char *why;
    char shown[8];
    assert_int_equal(redis_url_parse(&url, TEXT("redis://localhost"), &why), OK);
    redis_url_show(&url, shown, sizeof shown);
    assert_string_equal(shown, "redis:/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_url_is_taken_apart_and_shown_without_its_password),
        cmocka_unit_test(a_bad_url_is_refused_with_a_reason_that_keeps_the_password),
        cmocka_unit_test(each_part_has_a_longest_length),
        cmocka_unit_test(showing_into_a_short_buffer_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

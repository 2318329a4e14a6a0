#include "publisher/actor.h"
#include "tests/support/unit.h"

#include <stdio.h>

#define TOKEN_A "aaaaaaaaaaaaaaaaaaaa" /* 20: the least */
#define TOKEN_B "bbbbbbbbbbbbbbbbbbbbb"

static void lines_are_name_token_and_read(void **state)
{
    (void)state;
    static struct actors actors;
    char why[160];
    struct text file = TEXT("# people\n\nalice " TOKEN_A "\r\n  bob\t" TOKEN_B "  read \n" TOKEN_A "c");
    assert_int_equal(actors_parse(&actors, file, why, sizeof why), OK);
    assert_int_equal(actors.count, 3);
    const struct actor *alice = actors_find(&actors, TEXT(TOKEN_A)), *bob = actors_find(&actors, TEXT(TOKEN_B));
    assert_string_equal(alice->name, "alice");
    assert_false(alice->read_only);
    assert_string_equal(bob->name, "bob");
    assert_true(bob->read_only);
    assert_string_equal(actors_find(&actors, TEXT(TOKEN_A "c"))->name, "admin");
    assert_null(actors_find(&actors, TEXT("aaaaaaaaaaaaaaaaaaa")));
    assert_null(actors_find(&actors, TEXT("")));
    assert_null(actors_find(&actors, (struct text){NULL, 0}));
}

static void a_bad_file_is_refused_with_its_line_and_without_its_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *file, *line;
    } rows[] = {
        {"", "no token"},
        {"# nothing\n", "no token"},
        {"aaaaaaaaaaaaaaaaaaa\n", "line 1"}, /* 19 */
        {"a " TOKEN_A "\nb " TOKEN_B " write\n", "line 2"},
        {"a " TOKEN_A " read more\n", "line 1"},
        {"a " TOKEN_A "\n\nb " TOKEN_A "\n", "line 3"},
        {"a " TOKEN_A "\xc3\xa9\n", "line 1"},
    };
    static struct actors actors;
    for (size_t i = 0; i < ROWS(rows); i++) {
        char why[160] = "";
        assert_int_equal(actors_parse(&actors, text_of(rows[i].file), why, sizeof why), ERR_INVALID);
        assert_non_null(strstr(why, rows[i].line));
        assert_null(strstr(why, "aaaa"));
    }
}

static void there_is_room_for_so_many_and_no_more(void **state)
{
    (void)state;
    static struct actors actors;
    static char file[ACTORS_MAX * 40];
    char why[160];
    size_t len = 0;
    for (int i = 0; i < ACTORS_MAX; i++)
        len += (size_t)snprintf(file + len, sizeof file - len, "n%d token-number-%012d\n", i, i);
    assert_int_equal(actors_parse(&actors, (struct text){file, len}, why, sizeof why), OK);
    len += (size_t)snprintf(file + len, sizeof file - len, "x %s\n", TOKEN_A);
    assert_int_equal(actors_parse(&actors, (struct text){file, len}, why, sizeof why), ERR_INVALID);
}

static void a_bearer_header_gives_its_token(void **state)
{
    (void)state;
    assert_true(text_is(bearer_token(TEXT("Bearer x")), "x"));
    assert_true(text_is(bearer_token(TEXT("bearer  x y ")), "x y"));
    assert_null(bearer_token(TEXT("Bearer")).at);
    assert_null(bearer_token(TEXT("Basic x")).at);
    assert_null(bearer_token((struct text){NULL, 0}).at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_name_token_and_read),
        cmocka_unit_test(a_bad_file_is_refused_with_its_line_and_without_its_tokens),
        cmocka_unit_test(there_is_room_for_so_many_and_no_more),
        cmocka_unit_test(a_bearer_header_gives_its_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

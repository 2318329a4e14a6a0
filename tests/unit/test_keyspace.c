#include "common/line/keyspace.h"
#include "tests/support/unit.h"

static void only_the_alphabet_and_length_of_ids_pass(void **state)
{
    (void)state;
    char longest[SESSION_ID_MAX + 2];
    memset(longest, 'a', sizeof longest);
    assert_true(session_id_valid((struct text){longest, SESSION_ID_MAX}));
    assert_false(session_id_valid((struct text){longest, SESSION_ID_MAX + 1}));
    assert_true(session_id_valid(TEXT("2024-final_A")));
    for (int c = 0; c < 256; c++) {
        char one[1] = {(char)c};
        bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
        assert_int_equal(session_id_valid((struct text){one, 1}), word);
    }
    assert_false(session_id_valid(TEXT("")));
    assert_true(place_id_valid((struct text){longest, PLACE_ID_LEN}));
    assert_false(place_id_valid((struct text){longest, PLACE_ID_LEN - 1}));
    assert_true(server_id_valid(TEXT("i-0abc.eu")));
    assert_false(server_id_valid(TEXT(".hidden")));
    assert_false(server_id_valid(TEXT("a{b")));
}

static void keys_are_spelled_as_the_docs_say(void **state)
{
    (void)state;
    char key[KEY_SIZE];
    assert_true(text_is(key_session(key, "", TEXT("s"), TEXT("waiting")), "session:{s}:waiting"));
    assert_true(text_is(key_session(key, "p:", TEXT("s"), TEXT("state")), "p:session:{s}:state"));
    assert_true(text_is(key_server(key, "", TEXT("i-1"), "stream"), "server:i-1:stream"));
    assert_true(text_is(key_global(key, "p:", "doorbell"), "p:doorbell"));
}

static void a_server_name_is_cut_at_its_last_dot(void **state)
{
    (void)state;
    assert_true(text_is(server_name_id(TEXT("a.b.boot")), "a.b"));
    assert_true(text_is(server_name_boot(TEXT("a.b.boot")), "boot"));
    assert_true(text_is(server_name_id(TEXT("plain")), "plain"));
    assert_int_equal(server_name_boot(TEXT("plain")).len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_alphabet_and_length_of_ids_pass),
        cmocka_unit_test(keys_are_spelled_as_the_docs_say),
        cmocka_unit_test(a_server_name_is_cut_at_its_last_dot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

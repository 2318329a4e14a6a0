#include "gateway/network.h"
#include "tests/support/unit.h"

static void addresses_come_in_many_forms_and_names_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err err;
    } rows[] = {
        {"10.0.0.1", OK},
        {" 10.0.0.1\t", OK},
        {"10.0.0.1:443", OK},
        {"::1", OK},
        {"[::1]", OK},
        {"[::1]:443", OK},
        {"::ffff:10.0.0.1", OK},
        {"", ERR_INVALID},
        {"localhost", ERR_INVALID},
        {"10.0.0", ERR_INVALID},
        {"10.0.0.1:", ERR_INVALID},
        {"10.0.0.1:x", ERR_INVALID},
        {"10.0.0.1:65536", ERR_INVALID},
        {"[::1", ERR_INVALID},
        {"[::1]x", ERR_INVALID},
        {"[10.0.0.1]", ERR_INVALID},
        {"unknown", ERR_INVALID},
        {"1.2.3.4.5", ERR_INVALID},
        {"::g", ERR_INVALID},
        {"010.0.0.1", ERR_INVALID},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct address address;
        assert_int_equal(address_parse(text_of(rows[i].text), &address), rows[i].err);
    }
    struct address v4, mapped;
    assert_int_equal(address_parse(TEXT("10.0.0.1"), &v4), OK);
    assert_int_equal(address_parse(TEXT("::ffff:10.0.0.1"), &mapped), OK);
    assert_memory_equal(&v4, &mapped, sizeof v4);
}

static void networks_hold_what_their_prefix_says(void **state)
{
    (void)state;
    static const struct {
        const char *networks, *address;
        bool inside;
    } rows[] = {
        {"10.0.0.0/8", "10.255.1.2", true},
        {"10.0.0.0/8", "11.0.0.1", false},
        {"10.0.0.128/25", "10.0.0.127", false},
        {"10.0.0.128/25", "10.0.0.128", true},
        {"0.0.0.0/0", "1.2.3.4", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"2001:db8::/32", "2001:db8:ffff::1", true},
        {"::/0", "1.2.3.4", true},
        {"192.168.1.1, fd00::/8", "fd12::1", true},
        {"192.168.1.1, fd00::/8", "192.168.1.2", false},
        {"", "1.2.3.4", false},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct networks networks;
        struct address address;
        assert_int_equal(networks_parse(text_of(rows[i].networks), &networks), OK);
        assert_int_equal(address_parse(text_of(rows[i].address), &address), OK);
        assert_int_equal(networks_contain(&networks, &address), rows[i].inside);
    }
    struct networks networks;
    const char *bad[] = {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "host", "10.0.0.0/8;11.0.0.0/8"};
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_int_equal(networks_parse(text_of(bad[i]), &networks), ERR_INVALID);
}

static void the_client_is_the_first_untrusted_from_the_right(void **state)
{
    (void)state;
    static const struct {
        const char *peer, *forwarded, *client;
    } rows[] = {
        {"203.0.113.9", "1.1.1.1", "203.0.113.9"}, /* an untrusted peer may say what it likes */
        {"10.0.0.1", "1.1.1.1, 2.2.2.2", "2.2.2.2"},
        {"10.0.0.1", "1.1.1.1, 2.2.2.2, 10.0.0.7", "2.2.2.2"},
        {"10.0.0.1", "6.6.6.6, 2.2.2.2:1234", "2.2.2.2"},
        {"10.0.0.1", "[2001:db8::5]:443", "2001:db8::5"},
        {"10.0.0.1", "", "10.0.0.1"},
        {"10.0.0.1", "1.1.1.1, garbage", "10.0.0.1"},
        {"10.0.0.1", "1.1.1.1, garbage, 10.0.0.5", "10.0.0.5"},
        {"10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"},
        {"10.0.0.1", ",,1.1.1.1,", "10.0.0.1"},
    };
    struct networks trusted;
    assert_int_equal(networks_parse(TEXT("10.0.0.0/8"), &trusted), OK);
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct address peer, expected, client;
        assert_int_equal(address_parse(text_of(rows[i].peer), &peer), OK);
        assert_int_equal(address_parse(text_of(rows[i].client), &expected), OK);
        client = client_address(&trusted, &peer, text_of(rows[i].forwarded));
        assert_memory_equal(&client, &expected, sizeof client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_come_in_many_forms_and_names_are_none),
        cmocka_unit_test(networks_hold_what_their_prefix_says),
        cmocka_unit_test(the_client_is_the_first_untrusted_from_the_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

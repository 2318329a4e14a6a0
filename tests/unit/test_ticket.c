#include "common/line/ticket.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <unistd.h>

static struct token_key *make_key(const char *secret)
{
    char path[] = "/tmp/anteroom-key.XXXXXX", why[256];
    struct token_key *key = NULL;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, secret, strlen(secret)) == (ssize_t)strlen(secret));
    close(fd);
    assert_int_equal(token_key_load(&key, TOKEN_HS256, path, NULL, true, why, sizeof why), OK);
    unlink(path);
    return key;
}

static const struct ticket sample = {
    "2024-final", "abcdefghijklmnopqrstuv", "us\"er \xed\x95\x9c", 1795235197133, 990, 0, 3, 870};

static void a_ticket_comes_back_as_it_was(void **state)
{
    (void)state;
    struct token_key *key = make_key("0123456789012345678901234567890123456789");
    struct ticket back;
    char token[TOKEN_MAX];
    assert_int_equal(token_sign_ticket(key, &sample, token, sizeof token), OK);
    assert_int_equal(token_verify_ticket(key, text_of(token), &back), OK);
    assert_memory_equal(back.session, sample.session, sizeof sample.session);
    assert_string_equal(back.place, sample.place);
    assert_string_equal(back.user, sample.user);
    assert_true(back.epoch == sample.epoch && back.number == sample.number && back.gen == sample.gen);
    assert_int_equal(back.first, sample.first);
    assert_int_equal(token_sign_ticket(key, &sample, token, 100), ERR_TOO_BIG);
    token_key_destroy(key);
}

static void a_ticket_of_the_lobby_has_its_order_there(void **state)
{
    (void)state;
    struct token_key *key = make_key("0123456789012345678901234567890123456789");
    struct ticket lobby = sample, back;
    char token[TOKEN_MAX];
    lobby.number = 0;
    for (lobby.order = 0; lobby.order < 2000; lobby.order += 1999) {
        assert_int_equal(token_sign_ticket(key, &lobby, token, sizeof token), OK);
        assert_int_equal(token_verify_ticket(key, text_of(token), &back), OK);
        assert_true(back.number == 0 && back.order == lobby.order);
    }
    token_key_destroy(key);
}

static void a_ticket_that_does_not_say_where_it_began_is_a_ticket(void **state)
{
    (void)state;
    struct token_key *key = make_key("0123456789012345678901234567890123456789");
    struct ticket without = sample, back;
    char token[TOKEN_MAX];
    without.first = 0;
    assert_int_equal(token_sign_ticket(key, &without, token, sizeof token), OK);
    back.first = 1;
    assert_int_equal(token_verify_ticket(key, text_of(token), &back), OK);
    assert_int_equal(back.first, 0);
    token_key_destroy(key);
}

static void any_change_of_any_character_is_denied(void **state)
{
    (void)state;
    struct token_key *key = make_key("0123456789012345678901234567890123456789"),
                     *other = make_key("9876543210987654321098765432109876543210");
    struct ticket back;
    char token[TOKEN_MAX];
    assert_int_equal(token_sign_ticket(key, &sample, token, sizeof token), OK);
    size_t len = strlen(token);
    assert_int_equal(token_verify_ticket(other, text_of(token), &back), ERR_DENIED);
    for (size_t i = 0; i < len; i++) {
        char was = token[i];
        token[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(token_verify_ticket(key, (struct text){token, len}, &back), ERR_DENIED);
        token[i] = was;
        assert_int_equal(token_verify_ticket(key, (struct text){token, i}, &back), ERR_DENIED);
    }
    char longer[TOKEN_MAX + 8];
    snprintf(longer, sizeof longer, "%s.", token);
    assert_int_equal(token_verify_ticket(key, text_of(longer), &back), ERR_DENIED);
    snprintf(longer, sizeof longer, "%s ", token);
    assert_int_equal(token_verify_ticket(key, text_of(longer), &back), ERR_DENIED);
    assert_int_equal(token_verify_ticket(key, (struct text){NULL, 0}, &back), ERR_DENIED);
    token_key_destroy(key);
    token_key_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_comes_back_as_it_was),
        cmocka_unit_test(a_ticket_of_the_lobby_has_its_order_there),
        cmocka_unit_test(a_ticket_that_does_not_say_where_it_began_is_a_ticket),
        cmocka_unit_test(any_change_of_any_character_is_denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

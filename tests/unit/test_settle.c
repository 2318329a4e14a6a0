#include "publisher/settle.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct token_key *key(void)
{
    char path[] = "/tmp/anteroom-key-XXXXXX", why[256];
    struct token_key *made = NULL;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "0123456789012345678901234567890123456789", 40) == 40);
    close(fd);
    assert_int_equal(token_key_load(&made, TOKEN_HS256, path, NULL, true, why, sizeof why), OK);
    unlink(path);
    return made;
}

static void every_place_gets_a_token_with_its_own_times(void **state)
{
    (void)state;
    struct token_key *signer = key();
    static struct outbox_place places[SETTLE_CHUNK];
    struct settle_chunk chunk;
    for (size_t i = 0; i < SETTLE_CHUNK; i++) {
        snprintf(places[i].place, sizeof places[i].place, "place-%016zu", i);
        places[i].ticket = i + 1;
        places[i].issued_s = 1000 + (int64_t)i;
        places[i].expires_s = 2000 + (int64_t)i;
    }
    settle_chunk_init(&chunk);
    assert_int_equal(settle_chunk_sign(&chunk, signer, "anteroom", TEXT("s"), places, SETTLE_CHUNK), OK);
    assert_int_equal(chunk.count, 3 * SETTLE_CHUNK);
    for (size_t i = 0; i < SETTLE_CHUNK; i++) {
        int64_t issued_s, expires_s;
        char expiry[24];
        assert_true(text_is(chunk.args[3 * i], places[i].place));
        assert_int_equal(token_entry_times(chunk.args[3 * i + 1], &issued_s, &expires_s), OK);
        assert_int_equal(issued_s, 1000 + (int64_t)i);
        assert_int_equal(expires_s, 2000 + (int64_t)i);
        snprintf(expiry, sizeof expiry, "%zu", 2000 + i);
        assert_true(text_is(chunk.args[3 * i + 2], expiry));
    }
    settle_chunk_finish(&chunk);
    token_key_destroy(signer);
}

static void signing_again_gives_the_same_token(void **state)
{
    (void)state;
    struct token_key *signer = key();
    struct outbox_place place = {
        .place = "AAAAAAAAAAAAAAAAAAAAAA", .user = "u", .ticket = 1, .issued_s = 10, .expires_s = 20};
    struct settle_chunk first, second;
    settle_chunk_init(&first);
    settle_chunk_init(&second);
    assert_int_equal(settle_chunk_sign(&first, signer, "anteroom", TEXT("s"), &place, 1), OK);
    assert_int_equal(settle_chunk_sign(&second, signer, "anteroom", TEXT("s"), &place, 1), OK);
    assert_true(text_equal(first.args[1], second.args[1]));
    settle_chunk_finish(&first);
    settle_chunk_finish(&second);
    token_key_destroy(signer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_gets_a_token_with_its_own_times),
        cmocka_unit_test(signing_again_gives_the_same_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

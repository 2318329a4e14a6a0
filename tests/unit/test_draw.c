#include "publisher/draw.h"
#include "tests/support/redis_words.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define PLACE(letter)                                                                                               \
    letter letter letter letter letter letter letter letter letter letter letter letter letter letter letter letter \
        letter letter letter letter letter letter
#define A PLACE("a")
#define B PLACE("b")
#define C PLACE("c")

static void each_server_is_told_of_its_own_places(void **state)
{
    (void)state;
    const char *words[] = {"ok",   "17", "3", A,      "5",        "g1.x", B,      "6", "",   C,       "7",
                           "g1.x", A,    "8", "g2.y", "no place", "9",    "g1.x", B,   "10", "../.z", NULL};
    struct redis_reply *reply = reply_words(words);
    struct draw draw;
    draw_decode(OK, reply, &draw);
    assert_int_equal(draw.outcome, LINE_OK);
    assert_true(draw.epoch == 17 && draw.left == 3);
    assert_int_equal(draw.server_count, 2);
    assert_string_equal(draw.servers[0].name, "g1.x");
    assert_true(text_is(buf_view(&draw.servers[0].places), A ":5," C ":7"));
    assert_true(text_is(buf_view(&draw.servers[1].places), A ":8"));
    draw_finish(&draw);
    reply_words_free(reply);
}

static void other_answers_draw_nobody(void **state)
{
    (void)state;
    static const struct {
        const char *words[6];
        enum line_outcome outcome;
    } rows[] = {
        {{"fenced", "1200", "p-2", NULL}, LINE_FENCED},
        {{"gone", NULL}, LINE_GONE},
        {{"lost", NULL}, LINE_LOST},
        {{"nonsense", NULL}, LINE_FAILED},
        {{"ok", "17", "0", NULL}, LINE_OK},
        {{"ok", "17", "0", A, "5", NULL}, LINE_OK}, /* a place cut short is none */
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        const char *words[7] = {NULL};
        for (size_t w = 0; rows[i].words[w]; w++)
            words[w] = rows[i].words[w];
        struct redis_reply *reply = reply_words(words);
        struct draw draw;
        draw_decode(OK, reply, &draw);
        assert_int_equal(draw.outcome, rows[i].outcome);
        assert_int_equal(draw.server_count, 0);
        draw_finish(&draw);
        reply_words_free(reply);
    }
    struct draw draw;
    draw_decode(ERR_TIMEOUT, NULL, &draw);
    assert_int_equal(draw.outcome, LINE_FAILED);
    draw_finish(&draw);
}

static void a_whole_chunk_on_one_server_fits(void **state)
{
    (void)state;
    static const char *words[3 + 3 * DRAW_CHUNK + 1];
    words[0] = "ok", words[1] = "17", words[2] = "0";
    for (size_t i = 0; i < DRAW_CHUNK; i++) {
        words[3 + 3 * i] = A;
        words[4 + 3 * i] = "9007199254740991";
        words[5 + 3 * i] = "g1.x";
    }
    words[3 + 3 * DRAW_CHUNK] = NULL;
    struct redis_reply *reply = reply_words(words);
    struct draw draw;
    draw_decode(OK, reply, &draw);
    assert_int_equal(draw.outcome, LINE_OK);
    assert_int_equal(draw.servers[0].places.len, DRAW_CHUNK * (22 + 1 + 16 + 1) - 1);
    draw_finish(&draw);
    reply_words_free(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_server_is_told_of_its_own_places),
        cmocka_unit_test(other_answers_draw_nobody),
        cmocka_unit_test(a_whole_chunk_on_one_server_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

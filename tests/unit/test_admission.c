#include "publisher/admission.h"
#include "tests/support/redis_words.h"
#include "tests/support/unit.h"

#include <stdio.h>

#define PLACE_A "AAAAAAAAAAAAAAAAAAAAAA"
#define PLACE_B "BBBBBBBBBBBBBBBBBBBBBB"
#define FIELDS 32

/* A good answer, element by element. */
static const char *const good[FIELDS] = {
    "$2\r\nok\r\n",
    ":1700000000000\r\n",
    ":7\r\n",
    ":1\r\n",
    ":5\r\n",
    ":9\r\n",
    ":4\r\n",
    ":1\r\n",
    "$4\r\nopen\r\n",
    "$6\r\npaused\r\n",
    "$6\r\npaused\r\n",
    ":5\r\n",
    ":3\r\n",
    ":2\r\n",
    ":-1\r\n",
    ":4000\r\n",
    ":1\r\n",
    "$8\r\nsold-out\r\n",
    ":9\r\n",
    ":1\r\n",
    ":1700000000500\r\n",
    ":600\r\n",
    "*2\r\n:3\r\n:2\r\n",
    "*2\r\n$11\r\ngw.abcdefgh\r\n$5\r\n../.x\r\n",
    "*10\r\n$22\r\n" PLACE_A "\r\n:5\r\n$2\r\nu1\r\n:1700000000\r\n:1700000600\r\n$22\r\n" PLACE_B
    "\r\n:6\r\n$0\r\n\r\n:1\r\n:2\r\n",
    ":2\r\n",
    ":1\r\n",
    ":7\r\n",
    ":1500\r\n",
    "$3\r\ntps\r\n",
    ":40\r\n",
    ":3\r\n",
};

static const struct redis_reply *parse(const char *bytes, void **raw)
{
    *raw = reply_parse(bytes, strlen(bytes));
    return *raw;
}

/* The good answer with element INDEX replaced, or COUNT elements of it only. */
static const struct redis_reply *answer(size_t count, size_t index, const char *other, void **raw)
{
    char bytes[4096];
    int len = snprintf(bytes, sizeof bytes, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        len += snprintf(bytes + len, sizeof bytes - (size_t)len, "%s", i == index ? other : good[i]);
    return parse(bytes, raw);
}

static void a_good_answer_is_taken_whole(void **state)
{
    (void)state;
    void *raw;
    struct admission admission;
    admission_decode(OK, answer(FIELDS, FIELDS, NULL, &raw), &admission);
    reply_words_free(raw); /* it keeps nothing of the reply */
    assert_int_equal(admission.outcome, LINE_OK);
    assert_int_equal(admission.rev.epoch, 1700000000000);
    assert_int_equal(admission.rev.rev, 7);
    assert_int_equal(admission.tail, 9);
    assert_int_equal(admission.waiting, 4);
    assert_true(admission.announce && admission.more);
    assert_string_equal(admission.held, "paused");
    assert_string_equal(admission.closing, "sold-out");
    assert_int_equal(admission.closing_tail, 9);
    assert_int_equal(admission.stock_left, -1);
    assert_int_equal(admission.departed_count, 2);
    assert_false(admission.departed_many);
    assert_int_equal(admission.server_count, 1); /* the other name would be no key */
    assert_string_equal(admission.servers[0], "gw.abcdefgh");
    assert_int_equal(admission.outbox_count, 2);
    assert_string_equal(admission.outbox[0].place, PLACE_A);
    assert_string_equal(admission.outbox[0].user, "u1");
    assert_int_equal(admission.outbox[0].expires_s, 1700000600);
    assert_string_equal(admission.outbox[1].user, "");
    assert_int_equal(admission.admitted_now, 2);
    assert_int_equal(admission.virtual_now, 1);
    assert_int_equal(admission.lobby, 7);
    assert_int_equal(admission.start_ms, 1500);
    assert_string_equal(admission.load_key, "tps");
    assert_int_equal(admission.cap, 40);
    assert_int_equal(admission.version, 3);
    admission_finish(&admission);
    admission_finish(&admission);
}

static void any_nonsense_is_refused_or_read_as_nothing(void **state)
{
    (void)state;
    static const char *const others[] = {
        "$-1\r\n",
        ":-5\r\n",
        ":9223372036854775807\r\n",
        "$0\r\n\r\n",
        "$40\r\n0123456789012345678901234567890123456789\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*1\r\n*1\r\n:1\r\n",
        "*3\r\n$1\r\nx\r\n:-1\r\n$-1\r\n",
        "*5\r\n$22\r\n" PLACE_A "\r\n$-1\r\n$-1\r\n$1\r\nx\r\n$-1\r\n",
    };
    for (size_t i = 0; i < FIELDS; i++) {
        for (size_t o = 0; o < ROWS(others); o++) {
            void *raw;
            struct admission admission;
            admission_decode(OK, answer(FIELDS, i, others[o], &raw), &admission);
            assert_true(admission.outcome == LINE_OK || admission.outcome == LINE_FAILED);
            admission_finish(&admission);
            reply_words_free(raw);
        }
    }
    for (size_t count = 0; count < FIELDS; count++) {
        void *raw;
        struct admission admission;
        admission_decode(OK, answer(count, FIELDS, NULL, &raw), &admission);
        assert_int_equal(admission.outcome, LINE_FAILED);
        reply_words_free(raw);
    }
}

static void a_departure_that_cannot_be_read_asks_for_a_picture(void **state)
{
    (void)state;
    static const char *const lists[] = {"$1\r\n*\r\n", "*2\r\n:3\r\n$1\r\nx\r\n"};
    for (size_t i = 0; i < ROWS(lists); i++) {
        void *raw;
        struct admission admission;
        admission_decode(OK, answer(FIELDS, 22, lists[i], &raw), &admission);
        assert_true(admission.departed_many);
        admission_finish(&admission);
        reply_words_free(raw);
    }
}

static void the_other_outcomes_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        enum line_outcome outcome;
    } rows[] = {
        {"*3\r\n$6\r\nfenced\r\n:1200\r\n$3\r\np-2\r\n", LINE_FENCED},
        {"*1\r\n$4\r\nnone\r\n", LINE_NONE},
        {"*1\r\n$7\r\ndeleted\r\n", LINE_DELETED},
        {"*1\r\n$4\r\nlost\r\n", LINE_LOST},
        {"*1\r\n$7\r\nwaiting\r\n", LINE_FAILED},
        {":1\r\n", LINE_FAILED},
    };
    struct admission admission;
    for (size_t i = 0; i < ROWS(rows); i++) {
        void *raw;
        admission_decode(OK, parse(rows[i].bytes, &raw), &admission);
        assert_int_equal(admission.outcome, rows[i].outcome);
        if (rows[i].outcome == LINE_FENCED) {
            assert_int_equal(admission.fenced_ms, 1200);
            assert_string_equal(admission.owner, "p-2");
        }
        reply_words_free(raw);
    }
    admission_decode(ERR_TIMEOUT, NULL, &admission);
    assert_int_equal(admission.outcome, LINE_FAILED);
}

static void the_arguments_are_in_the_order_of_the_script(void **state)
{
    (void)state;
    const char settled[2][PLACE_ID_LEN + 1] = {PLACE_A, PLACE_B};
    struct admit_order order = {
        .publisher = "p-1",
        .run_id = "run",
        .load = "40",
        .load_key = "tps",
        .lease_ms = 5000,
        .tick_ms = 1000,
        .known = {11, 12},
        .announced = {13, 14},
        .settled = settled,
        .settled_count = 2,
    };
    static const char *const expected[] = {"p-1", "5000", "5000", "run", "11",    "12",   "13",
                                           "14",  "40",   "tps",  "500", PLACE_A, PLACE_B};
    struct admit_args args;
    admit_args_init(&args, &order);
    assert_int_equal(args.count, ROWS(expected));
    for (size_t i = 0; i < args.count; i++)
        assert_true(text_is(args.args[i], expected[i]));
    order.tick_ms = 2000; /* the clock may step by three ticks at once */
    admit_args_init(&args, &order);
    assert_true(text_is(args.args[2], "6000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_answer_is_taken_whole),
        cmocka_unit_test(any_nonsense_is_refused_or_read_as_nothing),
        cmocka_unit_test(a_departure_that_cannot_be_read_asks_for_a_picture),
        cmocka_unit_test(the_other_outcomes_are_told_apart),
        cmocka_unit_test(the_arguments_are_in_the_order_of_the_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

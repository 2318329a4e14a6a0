#include "common/base/text.h"
#include "tests/support/unit.h"

static void plain_text_stands_in_json_as_it_is(void **state)
{
    (void)state;
    assert_true(text_is_plain(TEXT("")));
    assert_true(text_is_plain((struct text){NULL, 0}));
    for (int c = 0; c < 256; c++) {
        char bytes[] = {'a', (char)c, '~'};
        bool plain = text_is_plain((struct text){bytes, sizeof bytes});
        assert_true(plain == (c > ' ' && c < 0x7f && c != '"' && c != '\\'));
        bool quotable = text_is_quotable((struct text){bytes, sizeof bytes});
        assert_true(quotable == (c >= ' ' && c != 0x7f && c != '"' && c != '\\'));
    }
}

static void numbers_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err err;
        int64_t value;
    } rows[] = {
        {"0", OK, 0},
        {"-1", OK, -1},
        {"42", OK, 42},
        {"9223372036854775807", OK, INT64_MAX},
        {"-9223372036854775808", OK, INT64_MIN},
        {"9223372036854775808", ERR_RANGE, 0},
        {"-9223372036854775809", ERR_RANGE, 0},
        {"99999999999999999999999", ERR_RANGE, 0},
        {"", ERR_INVALID, 0},
        {"-", ERR_INVALID, 0},
        {"+1", ERR_INVALID, 0},
        {" 1", ERR_INVALID, 0},
        {"1 ", ERR_INVALID, 0},
        {"01", ERR_INVALID, 0},
        {"-01", ERR_INVALID, 0},
        {"00", ERR_INVALID, 0},
        {"0x1", ERR_INVALID, 0},
        {"1e3", ERR_INVALID, 0},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        int64_t value = 0;
        assert_int_equal(text_int(text_of(rows[i].text), INT64_MIN, INT64_MAX, &value), rows[i].err);
        assert_true(value == rows[i].value);
    }
    int64_t value;
    assert_int_equal(text_int(TEXT("5"), 1, 5, &value), OK);
    assert_int_equal(text_int(TEXT("6"), 1, 5, &value), ERR_RANGE);
}

static void fractions_are_finite_and_whole(void **state)
{
    (void)state;
    double value;
    assert_int_equal(text_double(TEXT("2.500"), &value), OK);
    assert_true(value > 2.4999 && value < 2.5001);
    const char *bad[] = {"", " 1", "1 ", "nan", "inf", "1e999", "0x10", "1,5", "1.2.3", "--1"};
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_int_equal(text_double(text_of(bad[i]), &value), ERR_INVALID);
}

static void parts_are_cut_at_each_separator(void **state)
{
    (void)state;
    struct text rest = TEXT("a,,b"), part;
    assert_true(text_next(&rest, ',', &part) && text_is(part, "a"));
    assert_true(text_next(&rest, ',', &part) && text_is(part, ""));
    assert_true(text_next(&rest, ',', &part) && text_is(part, "b"));
    assert_false(text_next(&rest, ',', &part));
    rest = (struct text){NULL, 0};
    assert_false(text_next(&rest, ',', &part));
}

static void base64url_goes_there_and_back_and_takes_one_form_only(void **state)
{
    (void)state;
    uint8_t bytes[67], back[67];
    char text[100];
    size_t len;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 250);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        base64url_encode(text, bytes, n);
        assert_int_equal(base64url_decode(back, sizeof back, (struct text){text, BASE64URL_LEN(n)}, &len), OK);
        assert_int_equal(len, n);
        assert_memory_equal(bytes, back, n);
    }
    const char *bad[] = {"A", "AAAAA", "AB", "AAB", "AA=", "AA==", "A+AA", "A/AA", "A A", "AA\n"};
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_int_equal(base64url_decode(back, sizeof back, text_of(bad[i]), &len), ERR_INVALID);
    assert_int_equal(base64url_decode(back, 2, TEXT("AAAA"), &len), ERR_TOO_BIG);
}

static void percent_escapes_are_whole_and_never_nul(void **state)
{
    (void)state;
    char out[8];
    size_t len;
    assert_int_equal(percent_decode(out, sizeof out, TEXT("a%2fb+c"), true, &len), OK);
    assert_memory_equal(out, "a/b c", 5);
    assert_int_equal(len, 5);
    assert_int_equal(percent_decode(out, sizeof out, TEXT("+"), false, &len), OK);
    assert_int_equal(out[0], '+');
    const char *bad[] = {"%", "%2", "a%2", "%zz", "%2z", "%00", "%%20"};
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_int_equal(percent_decode(out, sizeof out, text_of(bad[i]), true, &len), ERR_INVALID);
    assert_int_equal(percent_decode(out, 2, TEXT("abc"), true, &len), ERR_TOO_BIG);
    assert_int_equal(percent_decode(out, 3, TEXT("abc"), true, &len), OK);
}

static void a_copy_fits_with_its_nul_or_is_empty(void **state)
{
    (void)state;
    char out[4] = "zzz";
    assert_int_equal(text_copy(out, 4, TEXT("abc")), OK);
    assert_string_equal(out, "abc");
    assert_int_equal(text_copy(out, 4, TEXT("abcd")), ERR_TOO_BIG);
    assert_string_equal(out, "");
}

static void secrets_compare_by_content(void **state)
{
    (void)state;
    assert_true(text_equal_secret(TEXT("abc"), TEXT("abc")));
    assert_false(text_equal_secret(TEXT("abc"), TEXT("abd")));
    assert_false(text_equal_secret(TEXT("abc"), TEXT("ab")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stands_in_json_as_it_is),
        cmocka_unit_test(numbers_are_read_strictly),
        cmocka_unit_test(fractions_are_finite_and_whole),
        cmocka_unit_test(parts_are_cut_at_each_separator),
        cmocka_unit_test(base64url_goes_there_and_back_and_takes_one_form_only),
        cmocka_unit_test(percent_escapes_are_whole_and_never_nul),
        cmocka_unit_test(a_copy_fits_with_its_nul_or_is_empty),
        cmocka_unit_test(secrets_compare_by_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "gateway/origin.h"
#include "tests/support/unit.h"

static void each_combination_of_headers_has_its_verdict(void **state)
{
    (void)state;
    static const struct {
        const char *method, *origin, *site, *mode, *public_url;
        enum origin_verdict verdict;
    } rows[] = {
        {"GET", NULL, NULL, NULL, "", ORIGIN_SAME}, /* apps, curl */
        {"GET", NULL, "same-origin", "cors", "", ORIGIN_SAME},
        {"GET", NULL, "none", "navigate", "", ORIGIN_NAVIGATE},
        {"GET", NULL, "cross-site", "navigate", "", ORIGIN_NAVIGATE},
        {"GET", NULL, "cross-site", "no-cors", "", ORIGIN_REFUSED},
        {"GET", NULL, "same-site", "no-cors", "", ORIGIN_REFUSED},
        {"POST", "null", "cross-site", "cors", "", ORIGIN_REFUSED},
        {"POST", "https://queue.example", "same-origin", "cors", "", ORIGIN_SAME},
        {"POST", "http://queue.example", NULL, NULL, "", ORIGIN_SAME},
        {"POST", "https://queue.example.evil", NULL, NULL, "", ORIGIN_REFUSED},
        {"POST", "https://evil.example", "cross-site", "cors", "", ORIGIN_REFUSED},
        {"POST", "https://shop.example", "same-site", "cors", "", ORIGIN_ALLOWED},
        {"POST", "http://shop.example", NULL, NULL, "", ORIGIN_REFUSED},
        {"POST", "https://shop.example:444", NULL, NULL, "", ORIGIN_REFUSED},
        {"POST", "https://queue.example", NULL, NULL, "https://other.example", ORIGIN_SAME},
        {"POST", "https://other.example", NULL, NULL, "https://other.example", ORIGIN_SAME},
        {"POST", "https://evil.example", NULL, NULL, "https://other.example", ORIGIN_REFUSED},
        {"POST", "", NULL, NULL, "", ORIGIN_REFUSED},
        {"POST", "http://queue.example", "cross-site", "cors", "", ORIGIN_REFUSED}, /* the scheme differs */
        {"POST", "https://queue.example", "same-site", "cors", "https://other.example", ORIGIN_REFUSED},
        {"POST", "https://other.example", "cross-site", "cors", "https://other.example", ORIGIN_SAME},
        {"POST", "null", NULL, NULL, "null", ORIGIN_REFUSED},
        {"POST", "https://evil.example", "cross-site", "navigate", "", ORIGIN_REFUSED}, /* a form */
        {"POST", "null", "cross-site", "navigate", "", ORIGIN_REFUSED},
        {"POST", NULL, "cross-site", "navigate", "", ORIGIN_REFUSED},
        {"POST", "https://queue.example", "same-origin", "navigate", "", ORIGIN_SAME},
        {"POST", "https://evil.queue.example", "same-site", "cors", "", ORIGIN_REFUSED},
        {"HEAD", NULL, "cross-site", "no-cors", "", ORIGIN_REFUSED},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct origin_facts facts = {text_of(rows[i].method),
                                     text_of(rows[i].origin),
                                     text_of(rows[i].site),
                                     text_of(rows[i].mode),
                                     TEXT("queue.example"),
                                     text_of(rows[i].public_url),
                                     TEXT("https://app.example, https://shop.example")};
        assert_int_equal(origin_judge(&facts), rows[i].verdict);
    }
}

static void neither_null_nor_nothing_is_ever_in_the_list(void **state)
{
    (void)state;
    static const char *lists[] = {"", "null", ",", "null,https://shop.example,"};
    for (size_t i = 0; i < ROWS(lists); i++) {
        struct origin_facts facts = {
            .method = TEXT("POST"), .host = TEXT("queue.example"), .allowed = text_of(lists[i])};
        facts.origin = TEXT("null");
        assert_int_equal(origin_judge(&facts), ORIGIN_REFUSED);
        facts.origin = TEXT("");
        assert_int_equal(origin_judge(&facts), ORIGIN_REFUSED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_combination_of_headers_has_its_verdict),
        cmocka_unit_test(neither_null_nor_nothing_is_ever_in_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

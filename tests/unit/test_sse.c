#include "gateway/sse.h"
#include "tests/support/unit.h"

#include <jansson.h>

static struct sse sse;
static const struct pace steady = {.rate = 2, .drift = 0.05, .step = 5}, slow = {.rate = 0.001}, unknown = {.rate = 0};

static const char *payload(void)
{
    assert_false(sse.broken);
    sse_payload(&sse)[sse.len] = '\0';
    return sse_payload(&sse);
}

static void a_state_frame_is_the_one_in_the_docs(void **state)
{
    (void)state;
    struct sse_state facts = {TEXT("42"), false, 123, 1000, 195, &steady};
    sse_start(&sse);
    sse_waiting_state(&sse, &facts);
    assert_string_equal(
        payload(),
        "event: waiting-state\ndata: {\"sessionId\":\"42\",\"status\":\"WAITING\",\"position\":123,\"ahead\":122,"
        "\"behind\":877,\"waiting\":1000,\"etaSeconds\":62,\"etaRange\":[52,71],\"progress\":0.36}\n\n");
}

static void odd_figures_still_make_sense(void **state)
{
    (void)state;
    static const struct {
        struct sse_state facts;
        const char *data;
    } rows[] = {
        {{{"s", 1}, true, 1, 1, 1, &steady},
         "{\"sessionId\":\"s\",\"status\":\"PAUSED\",\"position\":1,\"ahead\":0,\"behind\":0,\"waiting\":1,"
         "\"etaSeconds\":null,\"etaRange\":null,\"progress\":0.00}"},
        {{{"s", 1}, false, 9, 3, 5, &unknown},
         "{\"sessionId\":\"s\",\"status\":\"WAITING\",\"position\":9,\"ahead\":8,\"behind\":0,\"waiting\":9,"
         "\"etaSeconds\":null,\"etaRange\":null,\"progress\":0.00}"},
        {{{"s", 1}, false, 1, 10, 1000, &slow},
         "{\"sessionId\":\"s\",\"status\":\"WAITING\",\"position\":1,\"ahead\":0,\"behind\":9,\"waiting\":10,"
         "\"etaSeconds\":1000,\"etaRange\":[719,1391],\"progress\":0.99}"},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        sse_start(&sse);
        sse_waiting_state(&sse, &rows[i].facts);
        const char *data = strstr(payload(), "data: ") + 6;
        json_t *json = json_loads(data, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(json);
        json_decref(json);
        assert_memory_equal(data, rows[i].data, strlen(rows[i].data));
    }
}

static void an_entry_carries_everything_the_site_needs(void **state)
{
    (void)state;
    struct sse_entry entry = {TEXT("42"),   TEXT("a.b.c"), TEXT("https://shop.example/in"),
                              TEXT("post"), 1795176000500, 1795176600};
    sse_start(&sse);
    sse_id(&sse, TEXT("ticket"), true);
    sse_entry(&sse, &entry);
    assert_string_equal(payload(),
                        "id: ticket.e\nevent: entry\ndata: "
                        "{\"sessionId\":\"42\",\"token\":\"a.b.c\",\"admittedAt\":\"2026-11-20T12:00:00.500Z\","
                        "\"expiresAt\":\"2026-11-20T12:10:00.000Z\",\"entryUrl\":\"https://shop.example/"
                        "in\",\"entryMethod\":\"post\"}\n\n");
}

static void a_frame_that_does_not_fit_is_broken_and_not_overrun(void **state)
{
    (void)state;
    static char big[HTTP_FRAME_MAX + 10];
    memset(big, 'x', sizeof big);
    sse_start(&sse);
    sse_id(&sse, (struct text){big, sizeof big}, false);
    assert_true(sse.broken);
    sse_start(&sse);
    sse_id(&sse, (struct text){big, HTTP_FRAME_MAX - 5}, false);
    assert_false(sse.broken);
    assert_int_equal(sse.len, HTTP_FRAME_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_frame_is_the_one_in_the_docs),
        cmocka_unit_test(odd_figures_still_make_sense),
        cmocka_unit_test(an_entry_carries_everything_the_site_needs),
        cmocka_unit_test(a_frame_that_does_not_fit_is_broken_and_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

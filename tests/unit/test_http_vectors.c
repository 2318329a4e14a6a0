#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/buf.h"
#include "tests/support/http_fixture.h"

#include <jansson.h>
#include <openssl/evp.h>

/* Well-formed by the vectors' measure and refused here, as docs/http-api.md, "HTTP/1.1 strictness", wants. */
static const struct {
    const char *id;
    int status;
    const char *why;
} stricter[] = {
    {"tests/more-compliant-tests.yaml#5", 501, "stacked codings"},
    {"tests/more-compliant-tests.yaml#7", 501, "stacked codings"},
    {"tests/more-compliant-tests.yaml#9", 501, "stacked codings"},
    {"tests/rfc-compliant.yaml#9", 501, "stacked codings"},
    {"tests/more-compliant-tests.yaml#8", 400, "Transfer-Encoding twice"},
    {"tests/rfc-compliant.yaml#8", 400, "Transfer-Encoding twice"},
    {"tests/rfc-compliant.yaml#10", 400, "Transfer-Encoding twice"},
    {"tests/more-compliant-tests.yaml#6", 413, "a body of 4 MB"},
    {"tests/rfc-compliant.yaml#11", 400, "'#' in the target"},
    {"tests/rfc-compliant.yaml#12", 400, "bytes above ASCII in the target"},
    {"tests/rfc-compliant.yaml#13", 400, "no target"},
    {"test/request/content-length.md:6", 400, "leading zeros in Content-Length"},
    {"test/request/content-length.md:43", 400, "leading zeros in Content-Length"},
    {"test/request/content-length.md:263", 400, "GET with a body"},
    {"test/request/content-length.md:319", 400, "llhttp 8 takes no tabs around Content-Length"},
    {"test/request/method.md:6", 501, "a method unknown here"},
    {"test/request/method.md:137", 501, "a method unknown here"},
    {"test/request/method.md:219", 501, "a method unknown here"},
    {"test/request/method.md:247", 501, "a method unknown here"},
    {"test/request/method.md:275", 501, "a method unknown here"},
    {"test/request/method.md:313", 501, "a method unknown here"},
    {"test/request/method.md:346", 501, "a method unknown here"},
    {"test/request/method.md:484", 501, "a method unknown here"},
    {"test/request/method.md:374", 400, "another protocol's version"},
    {"test/request/method.md:404", 400, "another protocol's version"},
    {"test/request/method.md:432", 400, "another protocol's version"},
    {"test/request/sample.md:69", 400, "'=' in Host"},
    {"test/request/sample.md:107", 400, "'=' in Host"},
    {"test/request/sample.md:293", 400, "an empty line before the request"},
    {"test/request/sample.md:480", 400, "an empty line before the request"},
    {"test/request/sample.md:316", 400, "no version"},
    {"test/request/transfer-encoding.md:188", 400, "trailers"},
    {"test/request/transfer-encoding.md:240", 400, "llhttp 8 takes no extension behind one with a value"},
    {"test/request/transfer-encoding.md:368", 400, "llhttp 8 takes no extension behind one with a value"},
    {"test/request/transfer-encoding.md:753", 400, "'#' in the target"},
    {"test/request/transfer-encoding.md:795", 400, "'#' in the target"},
    {"test/request/uri.md:167", 400, "'#' in the target"},
    {"test/request/uri.md:54", 400, "absolute-form"},
    {"test/request/uri.md:77", 400, "absolute-form"},
    {"test/request/uri.md:127", 400, "absolute-form"},
    {"test/request/uri.md:224", 400, "absolute-form"},
};

struct outcome {
    int status; /* of the first answer; 0: none yet */
    size_t answers;
    bool ended;
};

static void ok(struct http_request *request, void *context)
{
    (void)context;
    http_respond(request, &(struct http_response){.status = 200, .type = "text/plain", .body = TEXT("ok")});
}

/* Every path of up to five segments, with every method: nothing is refused but for its form. */
static struct route routes[7 * 6];

static void routes_fill(void)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    static const char *const patterns[] = {"/", "/{a}", "/{a}/{b}", "/{a}/{b}/{c}", "/{a}/{b}/{c}/{d}", "//{a}"};
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        routes[i] = (struct route){methods[i % 7], patterns[i / 7], "any", 0, ok};
}

static json_t *vectors_load(const char *name)
{
    const char *folder = getenv("ANTEROOM_VECTORS");
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/vectors/http", name);
    json_t *root = json_load_file(path, 0, NULL);
    if (!root)
        print_message("skipped: no vectors at %s (set ANTEROOM_VECTORS to their folder)\n", path);
    return root;
}

static const char *member(const json_t *vector, const char *name)
{
    const char *value = json_string_value(json_object_get(vector, name));
    return value ? value : "";
}

/* The request's bytes, with a Host in its first block where that has none. */
static void payload(const json_t *vector, struct buf *out)
{
    const char *base64 = member(vector, "payload_b64");
    size_t len = strlen(base64);
    unsigned char *bytes = malloc(len + 1);
    assert_non_null(bytes);
    int decoded = EVP_DecodeBlock(bytes, (const unsigned char *)base64, (int)len);
    assert_true(decoded >= 0);
    struct text all = {(char *)bytes, (size_t)decoded};
    while (len > 0 && base64[--len] == '=')
        all.len--;
    const char *line = memmem(all.at, all.len, "\r\n", 2), *end = memmem(all.at, all.len, "\r\n\r\n", 4);
    size_t first = line ? (size_t)(line + 2 - all.at) : all.len, head = end ? (size_t)(end - all.at) : all.len;
    bool has_host = false;
    for (size_t i = 0; i + 6 <= head; i++)
        has_host = has_host || text_equal_nocase((struct text){all.at + i, 6}, TEXT("\nHost:"));
    assert_int_equal(buf_append(out, all.at, first), OK);
    if (!has_host && line)
        assert_int_equal(buf_text(out, TEXT("Host: x\r\n")), OK);
    assert_int_equal(buf_append(out, all.at + first, all.len - first), OK);
    free(bytes);
}

static int status_of(struct text digits)
{
    int64_t status = 0;
    return text_int(digits, 100, 599, &status) == OK ? (int)status : 0;
}

static struct outcome play(struct http_fixture *fixture, const json_t *vector)
{
    struct http_client client;
    struct buf bytes;
    struct outcome outcome = {0};
    buf_init(&bytes, 1u << 20);
    payload(vector, &bytes);
    http_client_open(&client, fixture, 0);
    http_client_send(&client, buf_view(&bytes));
    http_run(fixture, &client);
    if (!client.in.len && strcmp(member(vector, "expect"), "reject") == 0) { /* cut short: show the line's end */
        http_client_say(&client, "\r\n\r\n");
        http_run(fixture, &client);
    }
    buf_finish(&bytes);
    if (client.in.len >= 12)
        outcome.status = status_of((struct text){client.in.data + 9, 3});
    for (size_t i = 0; i + 9 < client.in.len; i++)
        outcome.answers += memcmp(client.in.data + i, "HTTP/1.1 ", 9) == 0 && client.in.data[i + 9] <= '9';
    outcome.ended = client.ended;
    http_client_close(&client);
    return outcome;
}

static bool refused(const struct outcome *outcome)
{
    return outcome->status >= 400 && outcome->status <= 501 && outcome->status != 404 && outcome->ended &&
           outcome->answers == 1;
}

static const char *exception_of(const char *id, int status)
{
    for (size_t i = 0; i < sizeof stricter / sizeof stricter[0]; i++)
        if (strcmp(stricter[i].id, id) == 0 && stricter[i].status == status)
            return stricter[i].why;
    return NULL;
}

static bool guardian_holds(const json_t *vector, const struct outcome *outcome)
{
    const char *tier = member(vector, "tier");
    if (strcmp(tier, "Severe") == 0)
        return refused(outcome);
    if (strcmp(tier, "Ambiguous") == 0)
        return refused(outcome) || (outcome->status && outcome->ended && outcome->answers == 1);
    if (strcmp(tier, "Compliant") == 0)
        return !refused(outcome) || exception_of(member(vector, "id"), outcome->status);
    return true; /* "Acceptable" binds to nothing */
}

static bool llhttp_holds(const json_t *vector, const struct outcome *outcome)
{
    const char *reason = member(vector, "reason");
    if (strcmp(member(vector, "expect"), "accept") == 0)
        return !refused(outcome) || exception_of(member(vector, "id"), outcome->status);
    if (strstr(reason, "Data after `Connection: close`")) /* not looked at, and the connection ends */
        return refused(outcome) || (outcome->status == 200 && outcome->answers == 1 && outcome->ended);
    if (strstr(reason, "Pause on CONNECT/Upgrade")) /* an Upgrade is ignored, CONNECT refused */
        return true;
    return refused(outcome);
}

static void play_all(const char *name, bool (*holds)(const json_t *vector, const struct outcome *outcome))
{
    struct http_fixture fixture;
    size_t wrong = 0, i;
    json_t *root = vectors_load(name), *vector;
    if (!root)
        skip();
    routes_fill();
    http_fixture_init(&fixture);
    fixture.settings.routes = routes;
    fixture.settings.route_count = sizeof routes / sizeof routes[0];
    http_fixture_start(&fixture);
    json_array_foreach(root, i, vector)
    {
        json_t *strict = json_object_get(vector, "strict");
        if ((strict && !json_is_true(strict)) || (strict && strcmp(member(vector, "type"), "request") != 0))
            continue;
        struct outcome outcome = play(&fixture, vector);
        if (holds(vector, &outcome))
            continue;
        wrong++;
        print_error("%s (%s): %s %s: status %d, %zu answers%s\n", member(vector, "id"), member(vector, "title"),
                    member(vector, "tier"), member(vector, "expect"), outcome.status, outcome.answers,
                    outcome.ended ? ", ended" : "");
    }
    http_fixture_finish(&fixture);
    json_decref(root);
    assert_int_equal(wrong, 0);
}

static void what_desync_guardian_calls_dangerous_is_refused(void **state)
{
    (void)state;
    play_all("desync_guardian.json", guardian_holds);
}

static void what_llhttp_refuses_is_refused(void **state)
{
    (void)state;
    play_all("llhttp.json", llhttp_holds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_desync_guardian_calls_dangerous_is_refused),
        cmocka_unit_test(what_llhttp_refuses_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

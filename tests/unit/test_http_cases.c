/* The cases of tests/vectors/http.txt: each whole and cut in two at every byte gets the same answers, and the
 * connection the same end. */
#include "tests/support/unit.h"

#include "tests/support/http_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define CASES "tests/vectors/http.txt"
#define CASE_BYTES_MAX 20000
#define LONG_BYTES 400 /* longer ones are cut at so many places only: they are long by repetition */

static struct http_fixture fixture;

static void ok(struct http_request *request, void *context)
{
    (void)context;
    http_respond(request, &(struct http_response){.status = 200, .type = "text/plain", .body = TEXT("ok")});
}

static const struct route routes[] = {
    {"GET", "/", "any", 0, ok},     {"POST", "/", "any", 0, ok},      {"HEAD", "/", "any", 0, ok},
    {"OPTIONS", "/", "any", 0, ok}, {"GET", "/{path}", "any", 0, ok},
};

/* ---- reading ---- */

static int hex(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* One escape or byte of *REST onto OUT. */
static void take(struct text *rest, struct buf *out)
{
    static const char letters[] = "rnt\\", bytes[] = "\r\n\t\\";
    const char *at = rest->at, *letter = rest->len > 1 ? memchr(letters, at[1], 4) : NULL;
    size_t used = 1, times = 0;
    char byte = at[0];
    if (rest->len >= 3 && memcmp(at, "{H}", 3) == 0) {
        assert_int_equal(buf_text(out, TEXT("Host: x\r\n")), OK);
        *rest = (struct text){at + 3, rest->len - 3};
        return;
    }
    if (at[0] == '\\' && letter) {
        byte = bytes[letter - letters];
        used = 2;
    } else if (at[0] == '\\' && rest->len > 3 && at[1] == 'x') {
        byte = (char)(hex(at[2]) << 4 | hex(at[3]));
        used = 4;
    } else if (at[0] == '{') {
        for (byte = out->data[out->len - 1]; at[used] != '}'; used++)
            times = times * 10 + (size_t)(at[used] - '0');
        used++;
    }
    for (size_t i = 0; i < (times ? times - 1 : 1); i++)
        assert_int_equal(buf_append(out, &byte, 1), OK);
    *rest = (struct text){at + used, rest->len - used};
}

static bool case_read(char *line, struct text *verdict, struct text *name, struct buf *bytes)
{
    struct text rest = text_of(line);
    if (rest.len && rest.at[rest.len - 1] == '\n')
        rest.len--;
    if (rest.len == 0 || rest.at[0] == '#')
        return false;
    assert_true(text_next(&rest, ' ', verdict));
    rest = text_trim(rest);
    assert_true(text_next(&rest, ' ', name));
    for (rest = text_trim(rest); rest.len > 0;)
        take(&rest, bytes);
    return true;
}

/* ---- playing ---- */

/* "200,400." as the client saw it. */
static void verdict_of(const struct http_client *client, char *dst, size_t size)
{
    struct text in = buf_view(&client->in);
    size_t len = 0;
    dst[0] = '\0';
    for (size_t i = 0; i + 12 <= in.len && len + 6 < size; i++)
        if (memcmp(in.at + i, "HTTP/1.1 ", 9) == 0 && in.at[i + 9] >= '1' && in.at[i + 9] <= '5')
            len += (size_t)snprintf(dst + len, size - len, "%s%.3s", len ? "," : "", in.at + i + 9);
    snprintf(dst + len, size - len, "%s", client->ended ? "." : "");
}

static bool play(struct text bytes, size_t cut, struct text verdict, struct text name)
{
    struct http_client client;
    char got[64];
    http_client_open(&client, &fixture, 0);
    http_client_send(&client, (struct text){bytes.at, cut});
    if (cut < bytes.len) {
        http_run(&fixture, &client);
        http_client_send(&client, (struct text){bytes.at + cut, bytes.len - cut});
    }
    http_run(&fixture, &client);
    verdict_of(&client, got, sizeof got);
    http_client_close(&client);
    if (text_is(verdict, got))
        return true;
    print_error("%.*s, cut at %zu of %zu: %s instead of %.*s\n", (int)name.len, name.at, cut, bytes.len, got,
                (int)verdict.len, verdict.at);
    return false;
}

static void each_case_has_its_answers_however_it_is_cut(void **state)
{
    (void)state;
    char *line = NULL;
    size_t room = 0, cases = 0, plays = 0, wrong = 0;
    FILE *file = fopen(CASES, "r");
    if (!file)
        fail_msg("no " CASES ": run it from the repository");
    http_fixture_init(&fixture);
    fixture.settings.routes = routes;
    fixture.settings.route_count = ROWS(routes);
    http_fixture_start(&fixture);
    while (getline(&line, &room, file) >= 0) {
        struct text verdict, name;
        struct buf bytes;
        buf_init(&bytes, CASE_BYTES_MAX);
        if (case_read(line, &verdict, &name, &bytes)) {
            bool good = play(buf_view(&bytes), bytes.len, verdict, name);
            size_t step = bytes.len > LONG_BYTES ? bytes.len / 50 : 1;
            for (size_t cut = 1; good && cut < bytes.len; cut += step, plays++)
                good = play(buf_view(&bytes), cut, verdict, name);
            wrong += !good;
            cases++;
            plays++;
        }
        buf_finish(&bytes);
    }
    free(line);
    fclose(file);
    http_fixture_finish(&fixture);
    print_message("%zu cases, %zu connections\n", cases, plays);
    assert_true(cases > 100);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_has_its_answers_however_it_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Frames. Whatever the texts in them, a frame is lines of known fields with an empty line at its end, its data is JSON,
 * and nothing in it begins another event. */
#include "tests/fuzz/fuzz.h"

#include "gateway/sse.h"

#define NUMBER_MAX (UINT64_C(1) << 53)

static bool known_field(struct text line)
{
    return text_starts(line, "data: ") || text_starts(line, "event: ") || text_starts(line, "id: ") ||
           text_starts(line, "retry: ") || text_starts(line, ":");
}

static void holds(const struct sse *sse, size_t events)
{
    struct text rest = {sse->room + HTTP_FRAME_RESERVE, sse->len}, line;
    size_t blank = 0, datas = 0;
    if (sse->broken)
        return;
    CHECK(sse->len <= HTTP_FRAME_MAX && rest.at[sse->len - 1] == '\n');
    rest.len--;
    while (text_next(&rest, '\n', &line)) {
        CHECK(line.len == 0 || known_field(line));
        CHECK(!memchr(line.at, '\r', line.len));
        blank += line.len == 0;
        if (text_starts(line, "data: ")) {
            datas++;
            CHECK(is_json((struct text){line.at + 6, line.len - 6}));
        }
    }
    CHECK(blank + (rest.at != NULL) >= events && datas == events);
}

static void states(struct input input, struct text session)
{
    static struct sse sse;
    struct pace pace = {.rate = (double)(input_number(&input) % 100000) / 100,
                        .leaving = (double)(input_number(&input) % 1000) / 1e4,
                        .noise = (double)(input_number(&input) % 1000),
                        .step = 1};
    uint64_t made[2] = {input_number(&input), input_number(&input)};
    memcpy(&pace.drift, &made[0], sizeof pace.drift); /* of any bits, NaN too */
    struct sse_state state = {.session = session,
                              .paused = made[1] & 1,
                              .position = 1 + input_number(&input) % UINT32_MAX,
                              .waiting = input_number(&input) % NUMBER_MAX, /* as Redis' messages are read */
                              .first_position = input_number(&input) % UINT32_MAX,
                              .pace = &pace};
    sse_start(&sse);
    sse_id(&sse, session, made[1] & 2);
    sse_waiting_state(&sse, &state);
    holds(&sse, 1);
    struct sse_lobby lobby = {session, TEXT("lottery"), session, (int64_t)made[0], made[1] % NUMBER_MAX};
    sse_start(&sse);
    sse_lobby(&sse, &lobby);
    holds(&sse, 1);
}

static void texts(struct text text, struct text session)
{
    static struct sse sse;
    struct buf json;
    buf_init(&json, 1 << 20);
    CHECK(buf_json(&json, text) == OK);
    sse_start(&sse);
    sse_retry(&sse, (uint32_t)text.len);
    sse_notice(&sse, session, buf_view(&json), (int64_t)text.len);
    holds(&sse, 1);
    sse_start(&sse);
    sse_closed(&sse, session, TEXT("cleared"));
    sse_superseded(&sse, session);
    sse_comment(&sse);
    holds(&sse, 2);
    struct sse_entry entry = {session,     TEXT("a.b.c"), TEXT("https://shop.example/in"),
                              TEXT("get"), INT64_MAX,     (int64_t)(text.len * 1000003)};
    sse_start(&sse);
    sse_entry(&sse, &entry);
    holds(&sse, 1);
    buf_finish(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text in = {(const char *)data, size};
    char session[65];
    id_of(session, 1 + size % 64, in);
    states((struct input){in}, text_of(session));
    texts(in, text_of(session));
    return 0;
}

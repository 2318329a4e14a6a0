#include "gateway/sse.h"

#include "common/base/clock.h"

void sse_start(struct sse *sse)
{
    sse->len = 0;
    sse->broken = false;
}

static void put(struct sse *sse, const char *bytes, size_t len)
{
    if (sse->broken || len > HTTP_FRAME_MAX - sse->len) {
        sse->broken = true;
        return;
    }
    memcpy(sse_payload(sse) + sse->len, bytes, len);
    sse->len += len;
}

#define PUT(sse, literal) put((sse), (literal), sizeof(literal) - 1)

static void put_text(struct sse *sse, struct text text)
{
    put(sse, text.at ? text.at : "", text.len);
}

/* printf would be half of a frame's cost. */
static void put_number(struct sse *sse, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(sse, digits + at, sizeof digits - at);
}

static void put_instant(struct sse *sse, int64_t unix_ms)
{
    char instant[CLOCK_RFC3339_SIZE];
    clock_rfc3339(instant, unix_ms);
    put_text(sse, text_of(instant));
}

void sse_retry(struct sse *sse, uint32_t retry_ms)
{
    PUT(sse, "retry: ");
    put_number(sse, retry_ms);
    PUT(sse, "\n");
}

void sse_id(struct sse *sse, struct text id, bool terminal)
{
    PUT(sse, "id: ");
    put_text(sse, id);
    if (terminal)
        PUT(sse, ".e");
    PUT(sse, "\n");
}

static void put_eta(struct sse *sse, const struct sse_state *state)
{
    struct eta eta;
    if (state->paused || !eta_of(state->pace, state->position, &eta)) {
        PUT(sse, ",\"etaSeconds\":null,\"etaRange\":null");
        return;
    }
    PUT(sse, ",\"etaSeconds\":");
    put_number(sse, (uint64_t)eta.seconds);
    PUT(sse, ",\"etaRange\":[");
    put_number(sse, (uint64_t)eta.low);
    PUT(sse, ",");
    put_number(sse, (uint64_t)eta.high);
    PUT(sse, "]");
}

void sse_waiting_state(struct sse *sse, const struct sse_state *state)
{
    uint64_t behind = state->waiting > state->position ? state->waiting - state->position : 0;
    uint64_t first = state->first_position > state->position ? state->first_position : state->position;
    uint64_t percent = first ? (first - state->position) * 100 / first : 0;
    PUT(sse, "event: waiting-state\ndata: {\"sessionId\":\"");
    put_text(sse, state->session);
    if (state->paused)
        PUT(sse, "\",\"status\":\"PAUSED\",\"position\":");
    else
        PUT(sse, "\",\"status\":\"WAITING\",\"position\":");
    put_number(sse, state->position);
    PUT(sse, ",\"ahead\":");
    put_number(sse, state->position - 1);
    PUT(sse, ",\"behind\":");
    put_number(sse, behind);
    PUT(sse, ",\"waiting\":");
    put_number(sse, state->position + behind);
    put_eta(sse, state);
    PUT(sse, ",\"progress\":0.");
    put_number(sse, percent / 10);
    put_number(sse, percent % 10);
    PUT(sse, "}\n\n");
}

void sse_lobby(struct sse *sse, const struct sse_lobby *lobby)
{
    PUT(sse, "event: lobby\ndata: {\"sessionId\":\"");
    put_text(sse, lobby->session);
    if (lobby->starts_at_ms) {
        PUT(sse, "\",\"startsAt\":\"");
        put_instant(sse, lobby->starts_at_ms);
    }
    PUT(sse, "\",\"waiting\":");
    put_number(sse, lobby->waiting);
    PUT(sse, ",\"order\":\"");
    put_text(sse, lobby->order);
    if (lobby->seed_hash.len) {
        PUT(sse, "\",\"seedHash\":\"");
        put_text(sse, lobby->seed_hash);
    }
    PUT(sse, "\"}\n\n");
}

void sse_notice(struct sse *sse, struct text session, struct text message, int64_t at_ms)
{
    PUT(sse, "event: notice\ndata: {\"sessionId\":\"");
    put_text(sse, session);
    PUT(sse, "\",\"message\":\"");
    put_text(sse, message);
    PUT(sse, "\",\"at\":\"");
    put_instant(sse, at_ms);
    PUT(sse, "\"}\n\n");
}

void sse_entry(struct sse *sse, const struct sse_entry *entry)
{
    PUT(sse, "event: entry\ndata: {\"sessionId\":\"");
    put_text(sse, entry->session);
    PUT(sse, "\",\"token\":\"");
    put_text(sse, entry->token);
    PUT(sse, "\",\"admittedAt\":\"");
    put_instant(sse, entry->admitted_ms);
    PUT(sse, "\",\"expiresAt\":\"");
    put_instant(sse, entry->expires_s * 1000);
    if (entry->entry_url.len) { /* checked when it was set: no quotes, no backslashes */
        PUT(sse, "\",\"entryUrl\":\"");
        put_text(sse, entry->entry_url);
        PUT(sse, "\",\"entryMethod\":\"");
        put_text(sse, entry->entry_method);
    }
    PUT(sse, "\"}\n\n");
}

void sse_closed(struct sse *sse, struct text session, struct text reason)
{
    PUT(sse, "event: closed\ndata: {\"sessionId\":\"");
    put_text(sse, session);
    PUT(sse, "\",\"reason\":\"");
    put_text(sse, reason);
    PUT(sse, "\"}\n\n");
}

void sse_superseded(struct sse *sse, struct text session)
{
    PUT(sse, "event: superseded\ndata: {\"sessionId\":\"");
    put_text(sse, session);
    PUT(sse, "\"}\n\n");
}

void sse_problem(struct sse *sse, const char *event, struct text json)
{
    PUT(sse, "event: ");
    put_text(sse, text_of(event));
    PUT(sse, "\ndata: ");
    put_text(sse, json);
    PUT(sse, "\n\n");
}

void sse_comment(struct sse *sse)
{
    PUT(sse, ": \n\n");
}

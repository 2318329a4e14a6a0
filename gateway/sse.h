/** Server-Sent Events frames. Pure; every writer fills a frame with the reserve that the HTTP layer's chunk framing
 * wants. */
#ifndef ANTEROOM_GATEWAY_SSE_H
#define ANTEROOM_GATEWAY_SSE_H

#include "common/base/text.h"
#include "common/http/stream.h"
#include "common/line/eta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A frame being written. Writing past the end sets BROKEN and writes nothing more. */
struct sse {
    char room[HTTP_FRAME_RESERVE + HTTP_FRAME_MAX + HTTP_FRAME_RESERVE];
    size_t len;
    bool broken;
};

static inline char *sse_payload(struct sse *sse)
{
    return sse->room + HTTP_FRAME_RESERVE;
}

void sse_start(struct sse *sse);
/** "retry: N" in ms. */
void sse_retry(struct sse *sse, uint32_t retry_ms);
/** "id: ID" and, where TERMINAL, ".e". ID may be empty for a terminal event of nobody's place. */
void sse_id(struct sse *sse, struct text id, bool terminal);

struct sse_state {
    struct text session;
    bool paused;
    uint64_t position, waiting, first_position;
    const struct pace *pace;
};
void sse_waiting_state(struct sse *sse, const struct sse_state *state);

/** Waiting for the draw. SEED_HASH "" and STARTS_AT_MS 0 are left out. */
struct sse_lobby {
    struct text session, order, seed_hash;
    int64_t starts_at_ms;
    uint64_t waiting;
};
void sse_lobby(struct sse *sse, const struct sse_lobby *lobby);

/** The operator's word. MESSAGE is JSON text already, without its quotes. */
void sse_notice(struct sse *sse, struct text session, struct text message, int64_t at_ms);

struct sse_entry {
    struct text session, token, entry_url, entry_method;
    int64_t admitted_ms, expires_s;
};
void sse_entry(struct sse *sse, const struct sse_entry *entry);
/** event: closed; event: superseded (REASON absent). */
void sse_closed(struct sse *sse, struct text session, struct text reason);
void sse_superseded(struct sse *sse, struct text session);
/** event: EVENT with a problem's JSON. */
void sse_problem(struct sse *sse, const char *event, struct text json);
void sse_comment(struct sse *sse);

#endif

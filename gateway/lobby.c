#include "gateway/lobby.h"

#include "common/base/check.h"
#include "gateway/gateway.h"
#include "gateway/place.h"
#include "gateway/session.h"
#include "gateway/sse.h"

void lobby_tell(struct session *session)
{
    struct lobby *lobby = &session->lobby;
    roster_tidy(&lobby->roster);
    lobby->refresh_s = 0;
    lobby->cursor = 0;
    lobby->walking = lobby->roster.len > 0;
    if (lobby->walking)
        push_session(&session->gateway->push, session);
}

void lobby_take_picture(struct session *session, const struct line_picture *picture)
{
    struct lobby *lobby = &session->lobby;
    bool news = lobby->starts_at_ms != picture->starts_at_ms || !text_is(picture->order, lobby->order) ||
                !text_is(picture->seed_hash, lobby->seed_hash);
    lobby->starts_at_ms = picture->starts_at_ms;
    if (text_copy(lobby->order, sizeof lobby->order, picture->order) != OK ||
        text_copy(lobby->seed_hash, sizeof lobby->seed_hash, picture->seed_hash) != OK)
        lobby->order[0] = '\0';
    if (news) {
        lobby->version++;
        lobby_tell(session);
    }
    lobby_take_state(session, picture->lobby, picture->phase);
}

void lobby_take_state(struct session *session, uint64_t waiting, struct text phase)
{
    struct lobby *lobby = &session->lobby;
    lobby->over = !text_is(phase, "lobby") && !text_is(phase, "drawing");
    if (waiting != lobby->waiting && lobby->refresh_s == 0)
        lobby->refresh_s = session->gateway->push.now_s + LOBBY_COUNT_S;
    if (waiting != lobby->waiting)
        lobby->version++;
    lobby->waiting = waiting;
}

void lobby_frame(struct sse *sse, const struct session *session, uint64_t least)
{
    const struct lobby *lobby = &session->lobby;
    struct sse_lobby state = {
        .session = session->name,
        .order = text_of(lobby->order),
        .seed_hash = strcmp(lobby->order, "lottery") == 0 ? text_of(lobby->seed_hash) : TEXT(""),
        .starts_at_ms = lobby->starts_at_ms,
        .waiting = lobby->waiting > least ? lobby->waiting : least,
    };
    sse_lobby(sse, &state);
}

/* True when something was sent. */
static bool lobby_push(struct push *push, struct place *place)
{
    static struct sse sse;
    struct session *session = place->session;
    if (!place->stream || (place->shown == session->lobby.version && place->noticed == session->notice_seq))
        return false;
    sse_start(&sse);
    if (place->noticed != session->notice_seq)
        session_notice(session, place->noticed == 0, &sse);
    lobby_frame(&sse, session, roster_count(&session->lobby.roster));
    if (!push_send(push, place, &sse, session->lobby.version))
        return false;
    metrics_add(push->gateway->metrics, METER_FRAMES, 1, "lobby", NULL, NULL);
    return true;
}

void lobby_push_one(struct push *push, struct place *place)
{
    place->dirty = false;
    lobby_push(push, place);
}

size_t lobby_slice(struct push *push, struct session *session, size_t budget)
{
    struct lobby *lobby = &session->lobby;
    size_t sent = 0;
    while (lobby->walking && sent < budget) {
        if (lobby->cursor >= lobby->roster.len) {
            lobby->walking = false;
            break;
        }
        struct place *place = lobby->roster.rows[lobby->cursor++].place;
        if (place)
            sent += lobby_push(push, place);
    }
    return sent;
}

bool lobby_due(const struct session *session, uint32_t now_s)
{
    const struct lobby *lobby = &session->lobby;
    return lobby->refresh_s > 0 && lobby->refresh_s <= now_s;
}

void lobby_sweep(struct session *session)
{
    if (session->lobby.over || session->lobby.unsure)
        lobby_look_up_all(session);
    session->lobby.unsure = false;
}

void lobby_look_up_all(struct session *session)
{
    struct lobby *lobby = &session->lobby;
    for (size_t i = 0; i < lobby->roster.len; i++)
        if (lobby->roster.rows[i].place)
            sweep_look_up(&session->gateway->sweep, lobby->roster.rows[i].place);
}

#include "publisher/announce.h"

struct text announce_departed(struct admission *admission, char dst[DEPARTED_SIZE])
{
    if (admission->departed_many ||
        departed_write(dst, DEPARTED_SIZE, admission->departed, admission->departed_count) != OK)
        return TEXT("*");
    return text_of(dst);
}

struct message announce_state(const struct admission *admission, struct text session, const struct pace *pace,
                              struct text departed)
{
    return (struct message){
        .type = MESSAGE_WAITING_STATE,
        .session = session,
        .epoch = admission->rev.epoch,
        .rev = admission->rev.rev,
        .base = admission->base,
        .head = admission->head,
        .tail = admission->tail,
        .waiting = admission->waiting,
        .lobby = admission->lobby,
        .admitted = admission->admitted_all,
        .pace = *pace,
        .phase = text_of(admission->phase),
        .status = text_of(admission->status),
        .departed = departed,
    };
}

struct message announce_closed(uint64_t epoch, struct text session, struct text reason, uint64_t tail)
{
    return (struct message){.type = MESSAGE_CLOSED, .session = session, .epoch = epoch, .reason = reason, .tail = tail};
}

struct message announce_drawn(uint64_t epoch, struct text session, struct text places)
{
    return (struct message){.type = MESSAGE_DRAWN, .session = session, .epoch = epoch, .places = places};
}

struct message announce_notice(uint64_t epoch, struct text session, struct text text, int64_t at_ms)
{
    return (struct message){.type = MESSAGE_NOTICE, .session = session, .epoch = epoch, .text = text, .at_ms = at_ms};
}

enum err announce_entry(const struct admission *admission, struct text session, const struct outbox_place *place,
                        struct text token, struct message *message)
{
    int64_t issued_s;
    *message = (struct message){
        .type = MESSAGE_ENTRY,
        .session = session,
        .epoch = admission->rev.epoch,
        .place = text_of(place->place),
        .ticket = place->ticket,
        .token = token,
        .admitted_ms = admission->now_ms,
    };
    return token_entry_times(token, &issued_s, &message->expires_s);
}

uint64_t announce_left(const struct admission *admission)
{
    if (admission->departed_many || admission->departed_count < admission->expired)
        return 0;
    return admission->departed_count - admission->expired;
}

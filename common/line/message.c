#include "common/line/message.h"

#include "common/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Fits the room for a number with its decimals. */
#define MEASURE_MAX 1e12

static const char *const type_words[] = {
    [MESSAGE_WAITING_STATE] = "waiting-state", [MESSAGE_ENTRY] = "entry", [MESSAGE_CLOSED] = "closed",
    [MESSAGE_SUPERSEDED] = "superseded",       [MESSAGE_DRAWN] = "drawn", [MESSAGE_NOTICE] = "notice",
};

static void put(struct message_command *command, struct text value)
{
    CHECK(command->count < MESSAGE_ARGS_MAX);
    command->args[command->count++] = value;
}

static void put_text(struct message_command *command, const char *name, struct text value)
{
    put(command, text_of(name));
    put(command, value.at ? value : TEXT(""));
}

static void put_number(struct message_command *command, const char *name, uint64_t value)
{
    CHECK(command->number_count < sizeof command->numbers / sizeof command->numbers[0]);
    char *dst = command->numbers[command->number_count++];
    snprintf(dst, sizeof command->numbers[0], "%" PRIu64, value);
    put_text(command, name, text_of(dst));
}

static void put_measure(struct message_command *command, const char *name, double value, int decimals)
{
    CHECK(command->number_count < sizeof command->numbers / sizeof command->numbers[0]);
    char *dst = command->numbers[command->number_count++];
    bool told = value > -MEASURE_MAX && value < MEASURE_MAX; /* else, as for NaN: unknown */
    snprintf(dst, sizeof command->numbers[0], "%.*f", decimals, told ? value : 0);
    put_text(command, name, text_of(dst));
}

static void put_waiting_state(struct message_command *command, const struct message *message)
{
    put_number(command, "rev", message->rev);
    put_text(command, "phase", message->phase);
    put_text(command, "status", message->status);
    put_number(command, "base", message->base);
    put_number(command, "head", message->head);
    put_number(command, "tail", message->tail);
    put_number(command, "waiting", message->waiting);
    put_text(command, "departed", message->departed);
    put_number(command, "lobby", message->lobby);
    put_number(command, "entered", message->admitted);
    put_measure(command, "rate", message->pace.rate, 3);
    put_measure(command, "leaving", message->pace.leaving, 6);
    put_measure(command, "noise", message->pace.noise, 3);
    put_measure(command, "drift", message->pace.drift, 3);
    put_measure(command, "step", message->pace.step, 3);
}

void message_encode(struct message_command *command, const char *prefix, struct text server,
                    const struct message *message)
{
    *command = (struct message_command){.count = 0};
    put(command, TEXT("XADD"));
    put(command, key_server(command->key, prefix, server_name_id(server), "stream"));
    put(command, TEXT("NOMKSTREAM"));
    put_text(command, "MAXLEN", TEXT("~"));
    put_text(command, "65536", TEXT("*"));
    CHECK(message->type < MESSAGE_UNKNOWN);
    put_text(command, "type", text_of(type_words[message->type]));
    put_text(command, "session", message->session);
    put_number(command, "epoch", message->epoch);
    switch (message->type) {
    case MESSAGE_WAITING_STATE:
        put_waiting_state(command, message);
        break;
    case MESSAGE_ENTRY:
        put_text(command, "place", message->place);
        put_number(command, "ticket", message->ticket);
        put_text(command, "token", message->token);
        put_number(command, "expires", (uint64_t)message->expires_s);
        put_number(command, "admitted", (uint64_t)message->admitted_ms);
        break;
    case MESSAGE_CLOSED:
        put_text(command, "reason", message->reason);
        if (message->place.at)
            put_text(command, "place", message->place);
        else
            put_number(command, "tail", message->tail);
        break;
    case MESSAGE_SUPERSEDED:
        put_text(command, "place", message->place);
        put_number(command, "gen", message->gen);
        break;
    case MESSAGE_DRAWN:
        put_text(command, "places", message->places);
        break;
    case MESSAGE_NOTICE:
        put_text(command, "message", message->text);
        put_number(command, "at", (uint64_t)message->at_ms);
        break;
    case MESSAGE_UNKNOWN:
        break;
    }
}

/* Fields by name; where they go in the struct. */
static const struct field {
    const char *name;
    enum { FIELD_TEXT, FIELD_NUMBER, FIELD_GEN, FIELD_TIME, FIELD_MEASURE } kind;
    size_t offset;
} fields_known[] = {
    {"session", FIELD_TEXT, offsetof(struct message, session)},
    {"epoch", FIELD_NUMBER, offsetof(struct message, epoch)},
    {"rev", FIELD_NUMBER, offsetof(struct message, rev)},
    {"base", FIELD_NUMBER, offsetof(struct message, base)},
    {"head", FIELD_NUMBER, offsetof(struct message, head)},
    {"tail", FIELD_NUMBER, offsetof(struct message, tail)},
    {"waiting", FIELD_NUMBER, offsetof(struct message, waiting)},
    {"rate", FIELD_MEASURE, offsetof(struct message, pace.rate)},
    {"leaving", FIELD_MEASURE, offsetof(struct message, pace.leaving)},
    {"noise", FIELD_MEASURE, offsetof(struct message, pace.noise)},
    {"drift", FIELD_MEASURE, offsetof(struct message, pace.drift)},
    {"step", FIELD_MEASURE, offsetof(struct message, pace.step)},
    {"phase", FIELD_TEXT, offsetof(struct message, phase)},
    {"status", FIELD_TEXT, offsetof(struct message, status)},
    {"departed", FIELD_TEXT, offsetof(struct message, departed)},
    {"place", FIELD_TEXT, offsetof(struct message, place)},
    {"ticket", FIELD_NUMBER, offsetof(struct message, ticket)},
    {"gen", FIELD_GEN, offsetof(struct message, gen)},
    {"token", FIELD_TEXT, offsetof(struct message, token)},
    {"expires", FIELD_TIME, offsetof(struct message, expires_s)},
    {"admitted", FIELD_TIME, offsetof(struct message, admitted_ms)},
    {"reason", FIELD_TEXT, offsetof(struct message, reason)},
    {"message", FIELD_TEXT, offsetof(struct message, text)},
    {"at", FIELD_TIME, offsetof(struct message, at_ms)},
    {"places", FIELD_TEXT, offsetof(struct message, places)},
    {"lobby", FIELD_NUMBER, offsetof(struct message, lobby)},
    {"entered", FIELD_NUMBER, offsetof(struct message, admitted)},
};

static enum err field_set(struct message *message, const struct field *field, struct text value)
{
    void *at = (char *)message + field->offset;
    int64_t number = 0;
    enum err err = OK;
    switch (field->kind) {
    case FIELD_TEXT:
        *(struct text *)at = value;
        return OK;
    case FIELD_MEASURE:
        return text_double(value, at);
    case FIELD_GEN:
        err = text_int(value, 0, UINT32_MAX, &number);
        *(uint32_t *)at = (uint32_t)number;
        return err;
    case FIELD_NUMBER:
    case FIELD_TIME:
        err = text_int(value, 0, (int64_t)1 << 53, &number);
        *(int64_t *)at = number;
        return err;
    }
    return ERR_INVALID;
}

static enum err message_check(const struct message *message)
{
    bool place = place_id_valid(message->place);
    if (!session_id_valid(message->session) || message->epoch == 0)
        return ERR_INVALID;
    switch (message->type) {
    case MESSAGE_WAITING_STATE:
        return message->rev > 0 && message->tail >= message->head ? OK : ERR_INVALID;
    case MESSAGE_ENTRY:
        return place && message->token.len > 0 && text_is_plain(message->token) ? OK : ERR_INVALID;
    case MESSAGE_SUPERSEDED:
        return place ? OK : ERR_INVALID;
    case MESSAGE_CLOSED:
        return message->reason.len > 0 && text_is_plain(message->reason) && (place || !message->place.at) ? OK
                                                                                                          : ERR_INVALID;
    case MESSAGE_DRAWN:
        return message->places.len > 0 ? OK : ERR_INVALID;
    case MESSAGE_NOTICE:
        return message->text.at ? OK : ERR_INVALID;
    case MESSAGE_UNKNOWN:
        return OK;
    }
    return ERR_INVALID;
}

enum err message_decode(const struct redis_reply *fields, struct message *message)
{
    *message = (struct message){.type = MESSAGE_UNKNOWN};
    bool typed = false;
    for (size_t i = 0; i + 1 < reply_len(fields); i += 2) {
        struct text name = reply_text(reply_at(fields, i)), value = reply_text(reply_at(fields, i + 1));
        if (text_is(name, "type")) {
            typed = true;
            for (size_t t = 0; t < MESSAGE_UNKNOWN; t++)
                if (text_is(value, type_words[t]))
                    message->type = (enum message_type)t;
        }
        for (size_t f = 0; f < sizeof fields_known / sizeof fields_known[0]; f++)
            if (text_is(name, fields_known[f].name) && field_set(message, &fields_known[f], value) != OK)
                return ERR_INVALID;
    }
    if (!typed)
        return ERR_INVALID;
    return message->type == MESSAGE_UNKNOWN ? OK : message_check(message);
}

bool drawn_next(struct text *rest, struct text *place, uint64_t *ticket)
{
    struct text item;
    int64_t number;
    if (!text_next(rest, ',', &item) || !text_next(&item, ':', place) || !place_id_valid(*place) ||
        text_int(item, 1, (int64_t)1 << 53, &number) != OK)
        return false;
    *ticket = (uint64_t)number;
    return true;
}

bool departed_next(struct text *rest, uint64_t *last, uint64_t *ticket, bool *bad)
{
    struct text part;
    int64_t value;
    *bad = rest->at && rest->len == 0 && *last > 0; /* a comma with nothing behind it */
    if (rest->len == 0 || !text_next(rest, ',', &part))
        return false;
    bool gap = part.len > 0 && part.at[0] == '+';
    if (gap)
        part = (struct text){part.at + 1, part.len - 1};
    if (gap != (*last > 0) || text_int(part, 1, (int64_t)1 << 53, &value) != OK) {
        *bad = true;
        return false;
    }
    *last = *ticket = (gap ? *last : 0) + (uint64_t)value;
    return true;
}

static int compare_tickets(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

enum err departed_write(char *dst, size_t size, uint64_t *tickets, size_t count)
{
    size_t len = 0;
    uint64_t last = 0;
    if (size == 0)
        return ERR_TOO_BIG;
    dst[0] = '\0';
    if (count > 1)
        qsort(tickets, count, sizeof *tickets, compare_tickets);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && tickets[i] == last)
            continue;
        int wrote = snprintf(dst + len, size - len, i ? ",+%" PRIu64 : "%" PRIu64, tickets[i] - last);
        if (wrote < 0 || (size_t)wrote >= size - len)
            return ERR_TOO_BIG;
        len += (size_t)wrote;
        last = tickets[i];
    }
    return OK;
}

#include "gateway/parks.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/line/message.h"
#include "gateway/gateway.h"

#include <stdlib.h>

#define FLUSH_MAX 512

struct park {
    struct list link;
    struct parks *parks;
    uint32_t gen;    /* > 0: a leave */
    uint64_t due_ms; /* in `later`: when */
    bool short_stay, again;
    char session[SESSION_ID_MAX + 1], place[PLACE_ID_LEN + 1], conn[32];
    char user[];
};

void parks_init(struct parks *parks, struct gateway *gateway)
{
    *parks = (struct parks){.gateway = gateway};
    list_init(&parks->waiting);
    list_init(&parks->later);
    list_init(&parks->spare);
}

static void park_free(struct park *park)
{
    list_remove(&park->link);
    park->parks->count--;
    free(park);
}

void parks_finish(struct parks *parks)
{
    struct list *lists[] = {&parks->waiting, &parks->later, &parks->spare}, *link;
    parks->count += parks->spares;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        while ((link = list_first(lists[i])) != NULL)
            park_free(CONTAINER_OF(link, struct park, link));
}

/* ---- spares ---- */

static struct park *park_alloc(struct parks *parks, size_t user_len)
{
    struct park *park = calloc(1, sizeof *park + user_len + 1);
    if (park) {
        park->parks = parks;
        list_init(&park->link);
    }
    return park;
}

static void fill_spares(struct parks *parks)
{
    for (struct park *park; parks->spares < PARKS_SPARE && (park = park_alloc(parks, USER_ID_MAX)); parks->spares++)
        list_append(&parks->spare, &park->link);
}

static struct park *take_spare(struct parks *parks)
{
    struct list *link = list_first(&parks->spare);
    if (!link)
        return NULL;
    list_remove(link);
    parks->spares--;
    return CONTAINER_OF(link, struct park, link);
}

/* ---- sending ---- */

/* Somebody left by a request to this gateway, and has a stream at another one. */
static void tell_left(const struct park *park, const struct redis_reply *reply)
{
    struct gateway *gateway = park->parks->gateway;
    struct text server = reply_text(reply_at(reply, 1));
    struct message_command command;
    struct message closed = {.type = MESSAGE_CLOSED,
                             .session = text_of(park->session),
                             .epoch = (uint64_t)reply_int(reply_at(reply, 3), 0),
                             .reason = TEXT("left"),
                             .place = text_of(park->place)};
    if (line_outcome_of(OK, reply) != LINE_DEPARTED || text_equal(server, membership_name(&gateway->membership)) ||
        !server_id_valid(server_name_id(server)))
        return;
    message_encode(&command, gateway->line.prefix, server, &closed);
    if (line_command(&gateway->line, command.count, command.args, NULL, NULL) != OK)
        log_event(LOG_DEBUG, "left-untold", LOG_S("session", park->session)); /* its audit will find out */
}

static void park_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct park *park = data;
    /* Out of memory, failing over, loading: that passes. A script's own error does not. */
    bool hopeless = err == ERR_REPLY && (reply_is_error(reply, "ERR") || reply_is_error(reply, "WRONGTYPE"));
    if (err == OK || hopeless) {
        if (hopeless)
            log_event(LOG_WARN, "park-refused", LOG_S("session", park->session), LOG_T("reason", reply_text(reply)));
        if (err == OK && park->gen)
            tell_left(park, reply);
        if (!park->again) {
            park_free(park);
            return;
        }
        park->again = false;
        park->due_ms = clock_mono_ms() + PARKS_AGAIN_MS;
        list_append(&park->parks->later, &park->link);
        return;
    }
    list_append(&park->parks->waiting, &park->link);
}

static bool park_send(struct park *park)
{
    struct line *line = &park->parks->gateway->line;
    list_remove(&park->link);
    enum err err = park->gen
                       ? line_leave(line, text_of(park->session), text_of(park->place), park->gen, park_answered, park)
                       : line_park(line, text_of(park->session), text_of(park->place), text_of(park->conn),
                                   text_of(park->user), park->short_stay, park_answered, park);
    if (err != OK)
        list_append(&park->parks->waiting, &park->link);
    return err == OK;
}

static bool park_new(struct parks *parks, struct text session, struct text place, struct text conn, struct text user,
                     bool short_stay, uint32_t gen)
{
    struct park *park = park_alloc(parks, user.len);
    CHECK(user.len <= USER_ID_MAX);
    if (!park && !(park = take_spare(parks))) {
        log_event(LOG_ERROR, "park-dropped", LOG_S("reason", "out of memory"));
        return false;
    }
    park->gen = gen;
    park->short_stay = park->again = short_stay;
    CHECK(text_copy(park->session, sizeof park->session, session) == OK);
    CHECK(text_copy(park->place, sizeof park->place, place) == OK);
    CHECK(text_copy(park->conn, sizeof park->conn, conn) == OK);
    CHECK(text_copy(park->user, user.len + 1, user) == OK);
    parks->count++;
    if (parks->count > PARKS_MAX && !list_empty(&parks->waiting))
        park_free(CONTAINER_OF(list_first(&parks->waiting), struct park, link));
    list_append(&parks->waiting, &park->link);
    park_send(park);
    return true;
}

void parks_add(struct parks *parks, struct text session, struct text place, struct text conn, struct text user,
               bool short_stay)
{
    park_new(parks, session, place, conn, user, short_stay, 0);
}

bool parks_add_leave(struct parks *parks, struct text session, struct text place, uint32_t gen)
{
    return park_new(parks, session, place, TEXT(""), TEXT(""), false, gen);
}

void parks_flush(struct parks *parks)
{
    struct list *link;
    fill_spares(parks);
    while ((link = list_first(&parks->later)) != NULL) {
        struct park *park = CONTAINER_OF(link, struct park, link);
        if (park->due_ms > clock_mono_ms())
            break;
        list_remove(link);
        list_append(&parks->waiting, link);
    }
    for (int i = 0; i < FLUSH_MAX && !list_empty(&parks->waiting); i++)
        if (!park_send(CONTAINER_OF(list_first(&parks->waiting), struct park, link)))
            return;
}

size_t parks_unsent(const struct parks *parks)
{
    size_t later = 0;
    for (const struct list *link = parks->later.next; link != &parks->later; link = link->next)
        later++;
    return parks->count - later;
}

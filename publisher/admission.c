#include "publisher/admission.h"

#include "common/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CLOCK_STEP_MIN_MS 5000
#define OK_FIELDS 32
#define OUTBOX_FIELDS 5

static struct text number(struct admit_args *args, size_t index, uint64_t value)
{
    snprintf(args->numbers[index], sizeof args->numbers[index], "%" PRIu64, value);
    return text_of(args->numbers[index]);
}

void admit_args_init(struct admit_args *args, const struct admit_order *order)
{
    int64_t step = order->tick_ms * 3 > CLOCK_STEP_MIN_MS ? order->tick_ms * 3 : CLOCK_STEP_MIN_MS;
    CHECK(order->settled_count <= ADMIT_POPS_MAX);
    args->count = 11;
    args->args[0] = text_of(order->publisher);
    args->args[1] = number(args, 0, (uint64_t)order->lease_ms);
    args->args[2] = number(args, 1, (uint64_t)step);
    args->args[3] = text_of(order->run_id);
    args->args[4] = number(args, 2, order->known.epoch);
    args->args[5] = number(args, 3, order->known.rev);
    args->args[6] = number(args, 4, order->announced.epoch);
    args->args[7] = number(args, 5, order->announced.rev);
    args->args[8] = text_of(order->load);
    args->args[9] = text_of(order->load_key);
    args->args[10] = number(args, 6, ADMIT_POPS_MAX);
    for (size_t i = 0; i < order->settled_count; i++)
        args->args[args->count++] = text_of(order->settled[i]);
}

static int64_t int_at(const struct redis_reply *reply, size_t index)
{
    return reply_int(reply_at(reply, index), 0);
}

static uint64_t count_at(const struct redis_reply *reply, size_t index)
{
    int64_t value = int_at(reply, index);
    return value > 0 ? (uint64_t)value : 0;
}

static void word_at(const struct redis_reply *reply, size_t index, char *dst, size_t size)
{
    if (text_copy(dst, size, reply_text(reply_at(reply, index))) != OK)
        dst[0] = '\0';
}

/* An array of COUNT elements; one of them when COUNT is 0, so that NULL always means no memory. */
static void *array_of(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

static bool take_departed(const struct redis_reply *list, struct admission *admission)
{
    size_t count = reply_len(list);
    admission->departed_many = text_is(reply_text(list), "*");
    admission->departed = array_of(count, sizeof *admission->departed);
    for (size_t i = 0; i < count && admission->departed; i++) {
        uint64_t ticket = count_at(list, i);
        if (ticket > 0)
            admission->departed[admission->departed_count++] = ticket;
        else
            admission->departed_many = true; /* a ticket we cannot read may not be kept quiet about */
    }
    return admission->departed != NULL;
}

static bool take_servers(const struct redis_reply *list, struct admission *admission)
{
    size_t count = reply_len(list) < ADMIT_SERVERS_MAX ? reply_len(list) : ADMIT_SERVERS_MAX;
    admission->servers = array_of(count, sizeof *admission->servers);
    for (size_t i = 0; i < count && admission->servers; i++) {
        struct text name = reply_text(reply_at(list, i));
        if (server_id_valid(server_name_id(name)) &&
            text_copy(admission->servers[admission->server_count], SERVER_NAME_SIZE, name) == OK)
            admission->server_count++;
    }
    return admission->servers != NULL;
}

static bool take_outbox(const struct redis_reply *list, struct admission *admission)
{
    size_t count = reply_len(list) / OUTBOX_FIELDS;
    if (count > ADMIT_POPS_MAX)
        count = ADMIT_POPS_MAX;
    admission->outbox = array_of(count, sizeof *admission->outbox);
    for (size_t i = 0; i < count && admission->outbox; i++) {
        struct outbox_place *place = &admission->outbox[admission->outbox_count];
        size_t at = i * OUTBOX_FIELDS;
        if (!place_id_valid(reply_text(reply_at(list, at))))
            continue;
        word_at(list, at, place->place, sizeof place->place);
        word_at(list, at + 2, place->user, sizeof place->user);
        place->ticket = count_at(list, at + 1);
        place->issued_s = int_at(list, at + 3);
        place->expires_s = int_at(list, at + 4);
        admission->outbox_count++;
    }
    return admission->outbox != NULL;
}

static bool take_ok(const struct redis_reply *reply, struct admission *admission)
{
    if (reply_len(reply) < OK_FIELDS || count_at(reply, 1) == 0)
        return false;
    admission->rev = (struct line_rev){count_at(reply, 1), count_at(reply, 2)};
    admission->base = count_at(reply, 3);
    admission->head = count_at(reply, 4);
    admission->tail = count_at(reply, 5);
    admission->waiting = count_at(reply, 6);
    admission->announce = int_at(reply, 7) == 1;
    word_at(reply, 8, admission->phase, sizeof admission->phase);
    word_at(reply, 9, admission->status, sizeof admission->status);
    word_at(reply, 10, admission->held, sizeof admission->held);
    admission->admitted_all = count_at(reply, 11);
    admission->active = count_at(reply, 12);
    admission->parked = count_at(reply, 13);
    admission->stock_left = reply_int(reply_at(reply, 14), -1);
    admission->refill_ms = int_at(reply, 15);
    admission->expired = count_at(reply, 16);
    word_at(reply, 17, admission->closing, sizeof admission->closing);
    admission->closing_tail = count_at(reply, 18);
    admission->more = int_at(reply, 19) == 1;
    admission->now_ms = int_at(reply, 20);
    admission->admitted_now = count_at(reply, 25);
    admission->virtual_now = count_at(reply, 26);
    admission->lobby = count_at(reply, 27);
    admission->start_ms = reply_int(reply_at(reply, 28), -1);
    word_at(reply, 29, admission->load_key, sizeof admission->load_key);
    admission->cap = reply_int(reply_at(reply, 30), -1);
    admission->version = int_at(reply, 31);
    return take_departed(reply_at(reply, 22), admission) && take_servers(reply_at(reply, 23), admission) &&
           take_outbox(reply_at(reply, 24), admission);
}

void admission_decode(enum err err, const struct redis_reply *reply, struct admission *admission)
{
    *admission =
        (struct admission){.outcome = line_outcome_of(err, reply), .stock_left = -1, .start_ms = -1, .cap = -1};
    bool good = false;
    switch ((int)admission->outcome) {
    case LINE_OK:
        good = take_ok(reply, admission);
        break;
    case LINE_FENCED:
        admission->fenced_ms = int_at(reply, 1);
        word_at(reply, 2, admission->owner, sizeof admission->owner);
        word_at(reply, 3, admission->load_key, sizeof admission->load_key);
        good = true;
        break;
    case LINE_NONE:
    case LINE_DELETED:
    case LINE_LOST:
        good = true;
        break;
    }
    if (!good) {
        admission_finish(admission);
        admission->outcome = LINE_FAILED;
    }
}

void admission_finish(struct admission *admission)
{
    free(admission->departed);
    free(admission->servers);
    free(admission->outbox);
    admission->departed = NULL;
    admission->servers = NULL;
    admission->outbox = NULL;
    admission->departed_count = admission->server_count = admission->outbox_count = 0;
}

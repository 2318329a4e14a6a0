#include "gateway/inbox.h"

#include "common/base/log.h"
#include "gateway/gateway.h"
#include "gateway/session.h"

#include <stdio.h>
#include <stdlib.h>

#define ACK_MAX 64

static void inbox_read(struct inbox *inbox);

void inbox_init(struct inbox *inbox, struct gateway *gateway)
{
    *inbox = (struct inbox){.gateway = gateway};
}

static struct text stream_key(struct inbox *inbox, char *dst)
{
    return key_server(dst, inbox->gateway->line.prefix, text_of(inbox->gateway->membership.id), "stream");
}

/* ---- messages ---- */

static void take_message(struct inbox *inbox, const struct redis_reply *fields)
{
    struct gateway *gateway = inbox->gateway;
    struct message message;
    if (message_decode(fields, &message) != OK) {
        metrics_add(gateway->metrics, METER_MESSAGES_BAD, 1, NULL, NULL, NULL);
        return;
    }
    struct session *session = message.session.at ? session_find(gateway, message.session) : NULL;
    if (message.type == MESSAGE_ENTRY && gateway->joins_under_way > 0 && !map_find(&gateway->places, message.place))
        unclaimed_keep(&gateway->unclaimed, &message, uv_now(gateway->loop));
    if (session)
        session_message(session, &message);
}

static void pending_acknowledged(void *data, enum err err, const struct redis_reply *reply)
{
    struct inbox *inbox = data;
    (void)reply;
    inbox->busy = false;
    if (err == OK)
        inbox_poke(inbox);
}

/* XACK and XDEL of what was handled. One that is lost makes it come again as pending: handling twice is harmless. While
 * pending entries are read the answer is waited for, or the same ones would come again. False: they were not sent. */
static bool acknowledge(struct inbox *inbox, const struct redis_reply *entries)
{
    char key[KEY_SIZE];
    struct text ack[3 + ACK_MAX] = {TEXT("XACK"), stream_key(inbox, key), TEXT("gateway")};
    struct text del[2 + ACK_MAX] = {TEXT("XDEL"), ack[1]};
    struct line *line = &inbox->gateway->line;
    size_t count = 0;
    for (size_t i = 0; i < reply_len(entries) && count < ACK_MAX; i++, count++)
        ack[3 + count] = del[2 + count] = reply_text(reply_at(reply_at(entries, i), 0));
    if (count == 0)
        return true;
    bool sent = line_command(line, 2 + count, del, NULL, NULL) == OK &&
                line_command(line, 3 + count, ack, inbox->pending ? pending_acknowledged : NULL, inbox) == OK;
    if (sent)
        inbox->busy = inbox->pending;
    else
        inbox->pending = true;
    return sent;
}

static bool take_entries(struct inbox *inbox, const struct redis_reply *entries)
{
    int64_t stamp = 0;
    for (size_t i = 0; i < reply_len(entries); i++) {
        const struct redis_reply *entry = reply_at(entries, i);
        struct text id = reply_text(reply_at(entry, 0)), rest = id, ms;
        if (!text_next(&rest, '-', &ms) || text_int(ms, 0, INT64_MAX, &stamp) != OK)
            continue;
        if (reply_len(reply_at(entry, 1)) > 0) /* a pending entry that was trimmed comes as nil */
            take_message(inbox, reply_at(entry, 1));
    }
    double lag = stamp ? (double)(membership_redis_now_ms(&inbox->gateway->membership) - stamp) / 1000 : 0;
    metric_set(inbox->gateway->meters.stream_lag_seconds, lag > 0 ? lag : 0);
    return acknowledge(inbox, entries);
}

/* ---- reading ---- */

static void group_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct inbox *inbox = data;
    inbox->busy = false;
    if (err == OK || (err == ERR_REPLY && reply_is_error(reply, "BUSYGROUP"))) {
        inbox->has_group = true;
        inbox->pending = true;
        sweep_resynchronise(&inbox->gateway->sweep, "stream made");
        inbox_poke(inbox);
    } else if (err == ERR_REPLY) {
        log_event(LOG_ERROR, "stream-refused", LOG_T("reason", reply_text(reply)));
        redis_reconnect(inbox->gateway->block, "the stream's group cannot be made");
    }
}

static void make_group(struct inbox *inbox)
{
    char key[KEY_SIZE];
    struct text args[] = {TEXT("XGROUP"),  TEXT("CREATE"), stream_key(inbox, key),
                          TEXT("gateway"), TEXT("0"),      TEXT("MKSTREAM")};
    inbox->busy =
        redis_call(inbox->gateway->block, 6, args, inbox->gateway->line.timeout_ms, group_answered, inbox) == OK;
}

static void read_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct inbox *inbox = data;
    inbox->busy = false;
    if (!inbox->started)
        return;
    if (err == ERR_REPLY && (reply_is_error(reply, "NOGROUP") || reply_is_error(reply, "UNBLOCKED"))) {
        log_event(LOG_WARN, "stream-vanished", LOG_T("reason", reply_text(reply)));
        inbox->has_group = false;
    } else if (err == ERR_REPLY) {
        log_event(LOG_ERROR, "stream-unreadable", LOG_T("reason", reply_text(reply)));
        redis_reconnect(inbox->gateway->block, "the stream cannot be read");
        return;
    }
    const struct redis_reply *entries = reply_at(reply_at(reply, 0), 1); /* one stream: name and entries */
    if (err == OK && inbox->pending && reply_len(entries) == 0)
        inbox->pending = false;
    if (err == OK && !take_entries(inbox, entries))
        return; /* poked when the commands' connection is there again */
    inbox_poke(inbox);
}

static void inbox_read(struct inbox *inbox)
{
    char key[KEY_SIZE], block[8];
    if (!inbox->started || inbox->busy)
        return;
    if (!inbox->has_group) {
        make_group(inbox);
        return;
    }
    snprintf(block, sizeof block, "%d", INBOX_BLOCK_MS);
    struct text args[] = {TEXT("XREADGROUP"),
                          TEXT("GROUP"),
                          TEXT("gateway"),
                          text_of(inbox->gateway->membership.id),
                          TEXT("COUNT"),
                          TEXT(INBOX_COUNT),
                          TEXT("BLOCK"),
                          text_of(block),
                          TEXT("STREAMS"),
                          stream_key(inbox, key),
                          inbox->pending ? TEXT("0") : TEXT(">")};
    inbox->busy = redis_call(inbox->gateway->block, 11, args, INBOX_BLOCK_MS + inbox->gateway->line.timeout_ms,
                             read_answered, inbox) == OK;
}

void inbox_start(struct inbox *inbox)
{
    inbox->started = true;
    inbox_resume(inbox);
}

void inbox_stop(struct inbox *inbox)
{
    inbox->started = false;
}

void inbox_poke(struct inbox *inbox)
{
    if (redis_is_up(inbox->gateway->block))
        inbox_read(inbox);
}

void inbox_resume(struct inbox *inbox)
{
    inbox->pending = true;
    inbox_poke(inbox);
}

#include "gateway/restoration.h"

#include "common/base/entropy.h"
#include "common/base/log.h"
#include "gateway/gateway.h"
#include "gateway/place.h"
#include "gateway/session.h"

#include <stdlib.h>

/* ---- what is kept ---- */

void restoration_finish(struct restoration *restoration)
{
    kept_finish(&restoration->kept);
}

static void kept_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct session *session = data;
    session->restoration.keeping = false;
    if (kept_take(&session->restoration.kept, err, reply) != OK)
        log_event(LOG_DEBUG, "not-kept", LOG_T("session", session->name)); /* the next picture asks again */
}

void restoration_picture(struct session *session, const struct line_picture *picture)
{
    struct restoration *restoration = &session->restoration;
    restoration->admitted = picture->admitted;
    if (!restoration->keeping)
        restoration->keeping = line_keep(&session->gateway->line, session->name, kept_answered, session) == OK;
    restoration_put(session);
}

/* ---- opening again ---- */

static void opened(void *data, enum err err, const struct redis_reply *reply)
{
    struct session *session = data;
    session->restoration.opening = false;
    switch ((int)line_outcome_of(err, reply)) {
    case LINE_OK:
        session->restoration.opened_epoch = (uint64_t)reply_int(reply_at(reply, 1), 0);
        if (reply_int(reply_at(reply, 3), 0) == 1)
            log_event(LOG_WARN, "session-reopened", LOG_T("session", session->name),
                      LOG_I("epoch", reply_int(reply_at(reply, 1), 0)), LOG_I("tail", session->restoration.tail_seen));
        session_sync(session);
        break;
    case LINE_DELETED:
        session_deleted(session);
        break;
    default: /* the next sweep finds it missing again */
        log_event(LOG_WARN, "reopen-failed", LOG_T("session", session->name), LOG_S("reason", err_text(err)),
                  LOG_T("detail", reply_text(reply)));
    }
}

/* A session that Redis lost is not in the set of sessions either. */
static void enlist(struct session *session)
{
    struct line *line = &session->gateway->line;
    char key[KEY_SIZE];
    struct text args[] = {TEXT("SADD"), key_global(key, line->prefix, "sessions"), session->name};
    if (line_command(line, 3, args, NULL, NULL) != OK)
        log_event(LOG_DEBUG, "unlisted", LOG_T("session", session->name));
}

void restoration_open(struct session *session, const char *why)
{
    struct restoration *restoration = &session->restoration;
    struct gateway *gateway = session->gateway;
    const struct positions *positions = &session->positions;
    if (!session->known || restoration->opening)
        return;
    struct line_most most = {
        .epoch = positions->epoch,
        .rev = positions->rev,
        .tail = positions->tail > restoration->tail_seen ? positions->tail : restoration->tail_seen,
        .head = positions->head > restoration->head_seen ? positions->head : restoration->head_seen,
        .admitted = restoration->admitted,
    };
    if (most.tail < most.head) /* an entry came before any word of its ticket */
        most.tail = most.head;
    log_event(LOG_ERROR, "data-lost", LOG_T("session", session->name), LOG_I("known_epoch", most.epoch),
              LOG_I("known_rev", most.rev), LOG_S("detail", why));
    enlist(session);
    restoration->opening = line_reopen(&gateway->line, session->name, &restoration->kept, &most,
                                       gateway->options.common.restore_ms, 0, NULL, opened, session) == OK;
}

/* ---- putting back ---- */

struct chunk {
    struct session *session;
    size_t count;
    struct {
        char id[PLACE_ID_LEN];
        uint64_t conn;
    } places[RESTORE_CHUNK];
};

static void place_take(struct place *place, enum line_outcome outcome, uint64_t epoch)
{
    switch ((int)outcome) {
    case LINE_WAITING:
    case LINE_LOBBY:
    case LINE_ADMITTED:
        place->epoch = epoch;
        place->admitted = outcome == LINE_ADMITTED;
        break;
    case LINE_ENTERED:
        place->epoch = epoch;
        sweep_look_up(&place->session->gateway->sweep, place);
        break;
    case LINE_MOVED:
        place_end_superseded(place);
        break;
    default: /* its ticket proves nothing here: it comes back and joins anew */
        place_end_retry(place, 1000 + entropy_below(4000));
    }
}

static void chunk_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct chunk *chunk = data;
    struct session *session = chunk->session;
    enum line_outcome outcome = line_outcome_of(err, reply);
    uint64_t epoch = (uint64_t)reply_int(reply_at(reply, 1), 0);
    session->restoration.putting = false;
    for (size_t i = 0; outcome == LINE_OK && i < chunk->count; i++) {
        struct place *place = place_find(session->gateway, (struct text){chunk->places[i].id, PLACE_ID_LEN});
        if (place && place->conn == chunk->places[i].conn)
            place_take(place, line_outcome_word(reply_text(reply_at(reply, 2 + i))), epoch);
    }
    free(chunk);
    if (outcome == LINE_OK)
        restoration_put(session);
    else if (err == ERR_REPLY)
        log_event(LOG_ERROR, "restore-refused", LOG_T("session", session->name), LOG_T("detail", reply_text(reply)));
}

/* Places of an older epoch among the rows of ROSTER, into CHUNK. */
static void collect(const struct roster *roster, uint64_t epoch, struct chunk *chunk, struct lost_place *lost,
                    char (*conns)[CONN_SIZE])
{
    struct gateway *gateway = chunk->session->gateway;
    for (size_t i = 0; i < roster->len && chunk->count < RESTORE_CHUNK; i++) {
        const struct place *place = roster->rows[i].place;
        if (!place || place->epoch >= epoch)
            continue;
        size_t at = chunk->count++;
        memcpy(chunk->places[at].id, place->id, PLACE_ID_LEN);
        chunk->places[at].conn = place->conn;
        lost[at] = (struct lost_place){
            .place = {chunk->places[at].id, PLACE_ID_LEN},
            .conn = place_conn(gateway, place->conn, conns[at]),
            .user = text_of(place->user),
            .number = place->ticket,
            .order = place->order,
            .epoch = place->epoch,
            .gen = place->gen,
        };
    }
}

void restoration_put(struct session *session)
{
    static struct lost_place lost[RESTORE_CHUNK];
    static char conns[RESTORE_CHUNK][CONN_SIZE];
    struct gateway *gateway = session->gateway;
    uint64_t epoch = session->positions.epoch;
    struct chunk *chunk = NULL;
    if (session->known && !session->restoration.putting)
        chunk = malloc(sizeof *chunk);
    if (!chunk)
        return; /* the next sweep */
    chunk->session = session;
    chunk->count = 0;
    collect(&session->roster, epoch, chunk, lost, conns);
    collect(&session->lobby.roster, epoch, chunk, lost, conns);
    bool done = chunk->count < RESTORE_CHUNK;
    bool wanted = chunk->count > 0 || (session->restoring && session->restored_epoch != epoch);
    if (wanted && line_restore(&gateway->line, session->name, true, membership_name(&gateway->membership), done,
                               chunk->count, lost, chunk_answered, chunk) == OK) {
        session->restoration.putting = true;
        if (done)
            session->restored_epoch = epoch;
    } else {
        free(chunk);
    }
}

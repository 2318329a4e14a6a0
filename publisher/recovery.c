#include "publisher/recovery.h"

#include "common/base/log.h"
#include "publisher/publisher.h"

#include <stdlib.h>

/* One call, freed by its answer. */
struct errand {
    struct owner *owner; /* NULL once it has gone away */
};

static struct errand *errand_begin(struct owner *owner)
{
    struct errand *errand = owner->recovery.errand ? NULL : malloc(sizeof *errand);
    if (errand)
        *errand = (struct errand){owner};
    owner->recovery.errand = errand ? errand : owner->recovery.errand;
    return errand;
}

/* The owner, where it is still there. */
static struct owner *errand_end(struct errand *errand)
{
    struct owner *owner = errand->owner;
    if (owner)
        owner->recovery.errand = NULL;
    free(errand);
    return owner;
}

void recovery_finish(struct recovery *recovery)
{
    if (recovery->errand)
        recovery->errand->owner = NULL;
    recovery->errand = NULL;
    kept_finish(&recovery->kept);
}

/* ---- keeping ---- */

static void kept_answered(void *data, enum err err, const struct redis_reply *reply)
{
    struct owner *owner = errand_end(data);
    if (owner && kept_take(&owner->recovery.kept, err, reply) != OK)
        log_event(LOG_DEBUG, "not-kept", LOG_S("session", owner->session)); /* the next tick asks again */
}

void recovery_keep(struct owner *owner, const struct admission *admission)
{
    struct recovery *recovery = &owner->recovery;
    recovery->most = (struct line_most){.epoch = admission->rev.epoch,
                                        .rev = admission->rev.rev,
                                        .tail = admission->tail,
                                        .head = admission->head,
                                        .admitted = admission->admitted_all};
    bool news = admission->version != recovery->kept.version || strcmp(admission->phase, recovery->kept_phase) != 0;
    struct errand *errand = news ? errand_begin(owner) : NULL;
    if (!errand)
        return;
    memcpy(recovery->kept_phase, admission->phase, sizeof recovery->kept_phase);
    if (line_keep(&owner->publisher->line, text_of(owner->session), kept_answered, errand) != OK)
        errand_end(errand);
}

/* ---- opening again ---- */

static void opened(void *data, enum err err, const struct redis_reply *reply)
{
    struct owner *owner = errand_end(data);
    enum line_outcome outcome = line_outcome_of(err, reply);
    if (!owner)
        return;
    if (outcome == LINE_OK && reply_int(reply_at(reply, 3), 0) == 1)
        log_event(LOG_WARN, "session-reopened", LOG_S("session", owner->session),
                  LOG_I("epoch", reply_int(reply_at(reply, 1), 0)), LOG_I("tail", owner->recovery.most.tail));
    else if (outcome != LINE_OK)
        log_event(LOG_ERROR, "reopen-failed", LOG_S("session", owner->session), LOG_S("reason", err_text(err)),
                  LOG_T("detail", reply_text(reply)));
    owner_reopened(owner, outcome);
}

/* A session that Redis lost is not in the set of sessions either. */
static void enlist(struct owner *owner)
{
    struct line *line = &owner->publisher->line;
    char key[KEY_SIZE];
    struct text args[] = {TEXT("SADD"), key_global(key, line->prefix, "sessions"), text_of(owner->session)};
    if (line_command(line, 3, args, NULL, NULL) != OK)
        log_event(LOG_DEBUG, "unlisted", LOG_S("session", owner->session));
}

bool recovery_open(struct owner *owner)
{
    struct recovery *recovery = &owner->recovery;
    struct publisher *publisher = owner->publisher;
    struct text servers[REOPEN_SERVERS_MAX];
    size_t count = owner->server_count < REOPEN_SERVERS_MAX ? owner->server_count : 0; /* else the whole window */
    struct errand *errand = recovery->kept.version && recovery->most.epoch ? errand_begin(owner) : NULL;
    if (!errand)
        return false;
    for (size_t i = 0; i < count; i++)
        servers[i] = text_of(owner->servers[i]);
    enlist(owner);
    if (line_reopen(&publisher->line, text_of(owner->session), &recovery->kept, &recovery->most,
                    publisher->options.common.restore_ms, count, servers, opened, errand) == OK)
        return true;
    errand_end(errand);
    return false;
}

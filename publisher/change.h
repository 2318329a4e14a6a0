/** One change of one session by an operator, from the look at what is there to the answer. Owns itself. */
#ifndef ANTEROOM_PUBLISHER_CHANGE_H
#define ANTEROOM_PUBLISHER_CHANGE_H

#include "common/line/config.h"
#include "publisher/admin_answer.h"
#include "publisher/admin_body.h"

enum change_kind {
    CHANGE_PUT,
    CHANGE_PATCH,
    CHANGE_DELETE,
    CHANGE_PAUSE,
    CHANGE_RESUME,
    CHANGE_CLOSE,
    CHANGE_CLEAR,
    CHANGE_ANNOUNCE
};

struct change {
    struct admin_op op;
    enum change_kind kind;
    struct admin_condition condition;
    bool force;                  /* delete although people wait */
    struct config_change config; /* what is written */
    json_t *body;                /* what was asked for; NULL without a body */
    json_t *merged;              /* a patch applied to what was found */
    json_t *before;              /* the config found; NULL: there was none */
    int64_t before_version;
    bool create; /* PUT found nothing */
    unsigned tries;
    int status; /* of the answer when all went well */
};

/** CHANGE is filled and its op begun; it answers, logs and frees itself. */
void change_run(struct change *change);
/** For one that was answered already and never ran. */
void change_free(struct change *change);

#endif

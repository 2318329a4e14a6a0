/** The admit script's arguments and its answer. Pure. */
#ifndef ANTEROOM_PUBLISHER_ADMISSION_H
#define ANTEROOM_PUBLISHER_ADMISSION_H

#include "common/line/adaptive.h"
#include "common/line/line.h"
#include "common/line/token.h"

#define ADMIT_POPS_MAX 500
#define ADMIT_SERVERS_MAX 4096

/** An (epoch, rev) of a session. Zeros: none. */
struct line_rev {
    uint64_t epoch, rev;
};

/** What a tick is asked with. */
struct admit_order {
    const char *publisher, *run_id;
    const char *load,
        *load_key; /* what the site's load is ("missing", or a number), and where it was read; "": not read */
    int64_t lease_ms, tick_ms;
    struct line_rev known, announced;
    const char (*settled)[PLACE_ID_LEN + 1]; /* their tokens are stored and told */
    size_t settled_count;                    /* ≤ ADMIT_POPS_MAX */
};

struct admit_args {
    struct text args[11 + ADMIT_POPS_MAX];
    size_t count;
    char numbers[7][24];
};

/** Borrows ORDER's texts. */
void admit_args_init(struct admit_args *args, const struct admit_order *order);

struct outbox_place {
    char place[PLACE_ID_LEN + 1], user[USER_ID_MAX + 1]; /* user "": the place is the user */
    uint64_t ticket;
    int64_t issued_s, expires_s;
};

/** The answer, with copies of everything. */
struct admission {
    enum line_outcome outcome; /* LINE_OK, LINE_FENCED, LINE_NONE, LINE_DELETED, LINE_LOST or LINE_FAILED */
    /* LINE_OK */
    struct line_rev rev;
    uint64_t base, head, tail, waiting, lobby, admitted_all, admitted_now, virtual_now, active, parked, expired;
    int64_t stock_left; /* -1: no stock set */
    int64_t refill_ms, now_ms;
    int64_t start_ms;                /* to the start; -1: none ahead */
    int64_t cap;                     /* admissions an interval that the load allows; -1: no such limit */
    int64_t version;                 /* of the config */
    char load_key[LOAD_KEY_MAX + 1]; /* also with LINE_FENCED; "": not adaptive */
    bool announce, more;
    char phase[16], status[16];
    char held[16];    /* why nobody is admitted though people wait; "" */
    char closing[16]; /* everybody up to closing_tail is told this reason; "" */
    uint64_t closing_tail;
    bool departed_many; /* too many or unsure: the listeners fetch a picture */
    uint64_t *departed;
    size_t departed_count;
    char (*servers)[SERVER_NAME_SIZE]; /* "<id>.<boot>", valid names only */
    size_t server_count;
    struct outbox_place *outbox;
    size_t outbox_count;
    /* LINE_FENCED */
    int64_t fenced_ms;
    char owner[65];
};

/** ADMISSION is filled whatever comes; short of memory or with an answer that makes no sense the outcome is
 * LINE_FAILED. */
void admission_decode(enum err err, const struct redis_reply *reply, struct admission *admission);
/** Frees the copies; harmless twice. */
void admission_finish(struct admission *admission);

#endif

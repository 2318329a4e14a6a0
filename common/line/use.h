/** What becomes of an entry token on the site's side: it is redeemed, once, and its seat may be given back early. Both
 *  are one atomic step in Redis. */
#ifndef ANTEROOM_LINE_USE_H
#define ANTEROOM_LINE_USE_H

#include "common/line/line.h"

#define USE_BY_MAX 64
#define USE_AGAIN_MS 60000 /* for so long the same BY is told the same again: its answer may have been lost */

/** SESSION and PLACE are the token's aud and jti, EXPIRES_S its exp. NOW_MS is Redis' time as well as it is known. */
struct use {
    struct text session, place;
    int64_t expires_s, now_ms;
};

/** Up to USE_BY_MAX of [A-Za-z0-9_.:-], not empty. */
bool use_by_valid(struct text by);
/** Marks the token used. BY "" names nobody: it never gets the same answer again. The mark outlives the token. */
MUST_CHECK enum err use_redeem(struct line *line, const struct use *use, struct text by, redis_callback *callback,
                               void *data);
/** Asks whether the token was redeemed or released; use_was tells. Only SESSION and PLACE count. */
MUST_CHECK enum err use_look(struct line *line, const struct use *use, redis_callback *callback, void *data);
/** False also where there is no answer. */
bool use_was(enum err err, const struct redis_reply *reply);
/** LINE_OK (it is the caller's), LINE_USED, LINE_FAILED (no answer: it may have been carried out). BY and NOW_MS as
 * they were given. */
enum line_outcome use_redeemed(enum err err, const struct redis_reply *reply, struct text by, int64_t now_ms);
/** Frees the seat, forgets the place, marks the token used. Again: the same, and nothing changes. The answer's outcome
 * is LINE_OK or LINE_FAILED. */
MUST_CHECK enum err use_release(struct line *line, const struct use *use, redis_callback *callback, void *data);

#endif

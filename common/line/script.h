/** The Lua scripts of a line and the one way to call them. Keys are named by the scripts themselves ("-- keys:" lines);
 *  one that ends in ":*" is of one place: the first argument takes the star's place. */
#ifndef ANTEROOM_LINE_SCRIPT_H
#define ANTEROOM_LINE_SCRIPT_H

#include "common/redis/redis.h"

struct line_script {
    struct redis_script script;
    const char *keys; /* "config state waiting": names of keys of one session, in the order of KEYS */
};

extern struct line_script script_join, script_resume, script_park, script_leave, script_status, script_sync,
    script_admit, script_settle, script_reap, script_configure, script_release, script_draw, script_info, script_keep,
    script_reopen, script_restore, script_hold, script_unhold;

/** Once at start, before any call: computes the scripts' hashes. */
void line_scripts_prepare(void);

#endif

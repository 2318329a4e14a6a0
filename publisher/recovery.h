/** What the owner of a session keeps of it, and opening the session again when Redis came back empty or older. */
#ifndef ANTEROOM_PUBLISHER_RECOVERY_H
#define ANTEROOM_PUBLISHER_RECOVERY_H

#include "common/line/restoration.h"
#include "publisher/admission.h"

struct owner;
struct publisher;

struct recovery {
    struct kept kept;
    char kept_phase[16];   /* the line's phase when it was read: a draw changes what is kept */
    struct line_most most; /* as the last tick of ours found it */
    struct errand *errand; /* a call under way; it outlives the owner */
};

/** A tick of ours went well. */
void recovery_keep(struct owner *owner, const struct admission *admission);
/** Redis knows less than we do. True: a call is under way, after which the owner is rung; false: nothing is kept. */
bool recovery_open(struct owner *owner);
/** The owner goes away. */
void recovery_finish(struct recovery *recovery);

#endif

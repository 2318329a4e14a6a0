/** Entries that came before their connection did: a join's answer and the message of its admission travel on two
 * connections to Redis, so the message may win. Kept for a moment, bounded; the sweep finds what falls out. */
#ifndef ANTEROOM_GATEWAY_UNCLAIMED_H
#define ANTEROOM_GATEWAY_UNCLAIMED_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/line/message.h"

#define UNCLAIMED_MAX 1024
#define UNCLAIMED_MS 5000

struct unclaimed {
    struct map entries;
    struct list by_age;
};

struct unclaimed_entry {
    struct map_node node;
    struct list link;
    uint64_t since_ms;
    int64_t admitted_ms;
    char place[PLACE_ID_LEN];
    size_t token_len;
    char token[];
};

void unclaimed_init(struct unclaimed *unclaimed);
void unclaimed_finish(struct unclaimed *unclaimed);
/** Keeps a copy of an entry message nobody here waits for yet. Without memory: dropped, the sweep will find it. */
void unclaimed_keep(struct unclaimed *unclaimed, const struct message *message, uint64_t now_ms);
/** The kept entry of PLACE, taken out: the caller frees it. NULL when there is none. */
struct unclaimed_entry *unclaimed_take(struct unclaimed *unclaimed, struct text place);

#endif

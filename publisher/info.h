/** What INFO says. Pure. */
#ifndef ANTEROOM_PUBLISHER_INFO_H
#define ANTEROOM_PUBLISHER_INFO_H

#include "common/base/text.h"

/** The value of "name:value" in an INFO answer; {NULL, 0} where there is none. */
struct text info_field(struct text info, const char *name);
int64_t info_number(struct text info, const char *name, int64_t fallback);
/** Redis 7.0 or newer, or any Valkey, from INFO server. */
bool info_version_fits(struct text server);

enum info_memory { MEMORY_SAFE, MEMORY_MAY_EVICT, MEMORY_EVICTS };
/** From INFO memory. MAY: a policy that evicts, but no limit yet. */
enum info_memory info_memory_policy(struct text memory);

#endif

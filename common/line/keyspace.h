/** The names of all keys and channels in Redis; see docs/redis.md. Pure. No other file spells one. */
#ifndef ANTEROOM_LINE_KEYSPACE_H
#define ANTEROOM_LINE_KEYSPACE_H

#include "common/base/err.h"
#include "common/base/text.h"

#include <stdbool.h>
#include <stddef.h>

#define KEY_PREFIX_MAX 64
#define SESSION_ID_MAX 64
#define PLACE_ID_LEN 22
/* Room for the longest key: prefix, "session:{", 64, "}:used:", 22, NUL. */
#define KEY_SIZE 192
/** A server id, a dot and the boot. */
#define SERVER_ID_MAX 64
#define BOOT_LEN 8
#define SERVER_NAME_SIZE (SERVER_ID_MAX + 1 + BOOT_LEN + 1)

/** [A-Za-z0-9_-]{1,64}: checked before anything of an outsider's becomes part of a key. */
bool session_id_valid(struct text id);
/** 22 characters of base64url. */
bool place_id_valid(struct text id);
/** [A-Za-z0-9_.-]{1,64}, not beginning with a dot. */
bool server_id_valid(struct text id);

/** Into DST[KEY_SIZE], terminated; gives DST as text. Arguments were validated (a CHECK). */
struct text key_session(char *dst, const char *prefix, struct text session, struct text part);
struct text key_server(char *dst, const char *prefix, struct text server_id, const char *part);
/** "sessions", "servers", "doorbell". */
struct text key_global(char *dst, const char *prefix, const char *name);
/** Room for a load's key: prefix, name, NUL. */
#define LOAD_KEY_SIZE (KEY_PREFIX_MAX + 128 + 1)
/** Where a site reports its load; NAME was checked by load_key_valid. */
struct text key_load(char dst[LOAD_KEY_SIZE], const char *prefix, const char *name);
/** A server's name "<id>.<boot>" cut at its last dot; the boot is empty where there is none. */
struct text server_name_id(struct text name);
struct text server_name_boot(struct text name);

#endif

#include "common/line/keyspace.h"

#include "common/base/check.h"

static bool is_word(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool session_id_valid(struct text id)
{
    if (id.len == 0 || id.len > SESSION_ID_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (!is_word(id.at[i]))
            return false;
    return true;
}

bool place_id_valid(struct text id)
{
    return id.len == PLACE_ID_LEN && session_id_valid(id);
}

bool server_id_valid(struct text id)
{
    if (id.len == 0 || id.len > SERVER_ID_MAX || id.at[0] == '.')
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (!is_word(id.at[i]) && id.at[i] != '.')
            return false;
    return true;
}

static struct text key_done(char *dst, int len)
{
    CHECK(len > 0 && len < KEY_SIZE);
    return (struct text){dst, (size_t)len};
}

struct text key_session(char *dst, const char *prefix, struct text session, struct text part)
{
    CHECK(session_id_valid(session));
    return key_done(dst, snprintf(dst, KEY_SIZE, "%ssession:{%.*s}:%.*s", prefix, (int)session.len, session.at,
                                  (int)part.len, part.at));
}

struct text key_server(char *dst, const char *prefix, struct text server_id, const char *part)
{
    CHECK(server_id_valid(server_id));
    return key_done(dst, snprintf(dst, KEY_SIZE, "%sserver:%.*s:%s", prefix, (int)server_id.len, server_id.at, part));
}

struct text key_global(char *dst, const char *prefix, const char *name)
{
    return key_done(dst, snprintf(dst, KEY_SIZE, "%s%s", prefix, name));
}

struct text key_load(char dst[LOAD_KEY_SIZE], const char *prefix, const char *name)
{
    int len = snprintf(dst, LOAD_KEY_SIZE, "%s%s", prefix, name);
    CHECK(len > 0 && len < LOAD_KEY_SIZE);
    return (struct text){dst, (size_t)len};
}

struct text server_name_id(struct text name)
{
    for (size_t i = name.len; i > 0; i--)
        if (name.at[i - 1] == '.')
            return (struct text){name.at, i - 1};
    return name;
}

struct text server_name_boot(struct text name)
{
    size_t id = server_name_id(name).len;
    return id == name.len ? (struct text){name.at + id, 0} : (struct text){name.at + id + 1, name.len - id - 1};
}

#include "common/redis/url.h"

#include <ctype.h>
#include <stdio.h>

static enum err refuse(const char **why, const char *reason)
{
    *why = reason;
    return ERR_INVALID;
}

/* The part before the first AT; *REST keeps what follows it, or becomes absent. */
static struct text cut(struct text *rest, char at)
{
    struct text part = {rest->at, 0};
    (void)text_next(rest, at, &part);
    return part;
}

static bool is_printable(const char *string)
{
    for (; *string; string++)
        if ((unsigned char)*string < ' ' || *string == 0x7f)
            return false;
    return true;
}

static enum err decode(char *dst, size_t size, struct text text)
{
    size_t len;
    if (percent_decode(dst, size - 1, text, false, &len) != OK)
        return ERR_INVALID;
    dst[len] = '\0';
    return OK;
}

static enum err parse_db(struct redis_url *url, struct text text, const char **why)
{
    int64_t db;
    if (text_int(text, 0, INT32_MAX, &db) != OK)
        return refuse(why, "the database must be a number from 0 up");
    url->db = (int)db;
    return OK;
}

static enum err parse_unix(struct redis_url *url, struct text text, const char **why)
{
    struct text query = text, path = cut(&query, '?');
    if (!text_starts(path, "/"))
        return refuse(why, "unix:// takes an absolute path, as in unix:///run/redis/redis.sock");
    if (decode(url->path, sizeof url->path, path) != OK || !is_printable(url->path))
        return refuse(why, "the path of the socket is too long (107 bytes) or not well formed");
    if (!query.at)
        return OK;
    if (!text_starts(query, "db="))
        return refuse(why, "after the path of the socket only ?db=N is understood");
    return parse_db(url, (struct text){query.at + 3, query.len - 3}, why);
}

static enum err parse_user(struct redis_url *url, struct text text, const char **why)
{
    struct text password = text, user = cut(&password, ':');
    if (decode(url->user, sizeof url->user, user) != OK || !is_printable(url->user))
        return refuse(why, "the user name is too long or not well formed (special characters as %XX)");
    if (password.at && decode(url->password, sizeof url->password, password) != OK)
        return refuse(why, "the password is too long or not well formed (special characters as %XX)");
    if (url->user[0] && !url->password[0])
        return refuse(why, "a user needs a password, as in user:password@host (a password alone is :password@host)");
    return OK;
}

static bool is_host(struct text host, const char *also)
{
    for (size_t i = 0; i < host.len; i++)
        if (!isalnum((unsigned char)host.at[i]) && !(host.at[i] && strchr(also, host.at[i])))
            return false;
    return host.len > 0;
}

static enum err parse_host(struct redis_url *url, struct text text, const char **why)
{
    struct text port = text, host;
    bool bracketed = text_starts(text, "[");
    if (bracketed) {
        port = (struct text){text.at + 1, text.len - 1};
        host = cut(&port, ']');
        if (!port.at || (port.len > 0 && port.at[0] != ':'))
            return refuse(why, "an IPv6 address stands in brackets, as in [::1]:6379");
        port = port.len > 0 ? (struct text){port.at + 1, port.len - 1} : (struct text){NULL, 0};
    } else {
        host = cut(&port, ':');
    }
    if (!is_host(host, bracketed ? ":.%" : "-._") || text_copy(url->host, sizeof url->host, host) != OK)
        return refuse(why, "the host is missing, too long, or has characters no host name has");
    int64_t number = 6379;
    if (port.at && text_int(port, 1, 65535, &number) != OK)
        return refuse(why, "the port must be a number from 1 to 65535");
    snprintf(url->port, sizeof url->port, "%u", (unsigned)(uint16_t)number);
    return OK;
}

/* [user[:password]@]host[:port][/db] */
static enum err parse_network(struct redis_url *url, struct text text, const char **why)
{
    struct text db = text, where = cut(&db, '/');
    if (memchr(text.at, '?', text.len) || memchr(text.at, '#', text.len))
        return refuse(why, "after the database nothing is understood (write ? and # in a password as %3F and %23)");
    const char *at = where.len ? memrchr(where.at, '@', where.len) : NULL;
    if (at) {
        size_t user_len = (size_t)(at - where.at);
        enum err err = parse_user(url, (struct text){where.at, user_len}, why);
        if (err != OK)
            return err;
        where = (struct text){at + 1, where.len - user_len - 1};
    }
    enum err err = parse_host(url, where, why);
    if (err != OK || db.len == 0)
        return err;
    return parse_db(url, db, why);
}

enum err redis_url_parse(struct redis_url *url, struct text text, const char **why)
{
    static const struct scheme {
        const char *prefix;
        bool tls;
        enum err (*parse)(struct redis_url *url, struct text text, const char **why);
    } schemes[] = {
        {"redis://", false, parse_network},
        {"rediss://", true, parse_network},
        {"unix://", false, parse_unix},
    };
    *url = (struct redis_url){0};
    *why = "";
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t len = strlen(schemes[i].prefix);
        if (!text_starts(text, schemes[i].prefix))
            continue;
        url->tls = schemes[i].tls;
        return schemes[i].parse(url, (struct text){text.at + len, text.len - len}, why);
    }
    return refuse(why, "must start with redis://, rediss:// or unix://");
}

void redis_url_show(const struct redis_url *url, char *dst, size_t size)
{
    if (url->path[0]) {
        snprintf(dst, size, url->db ? "unix://%s?db=%d" : "unix://%s", url->path, url->db);
        return;
    }
    bool secret = url->password[0] != '\0', colon = strchr(url->host, ':') != NULL;
    snprintf(dst, size, "%s://%s%s%s%s%s:%s/%d", url->tls ? "rediss" : "redis", url->user, secret ? ":***@" : "",
             colon ? "[" : "", url->host, colon ? "]" : "", url->port, url->db);
}

#include "gateway/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool address_is_v4(const struct address *address)
{
    return memcmp(address->bytes, v4_prefix, sizeof v4_prefix) == 0;
}

static void set_v4(struct address *address, const void *four)
{
    memcpy(address->bytes, v4_prefix, sizeof v4_prefix);
    memcpy(address->bytes + 12, four, 4);
}

void address_of(const struct sockaddr *sockaddr, struct address *address)
{
    memset(address, 0, sizeof *address);
    if (sockaddr->sa_family == AF_INET)
        set_v4(address, &((const struct sockaddr_in *)(const void *)sockaddr)->sin_addr);
    else if (sockaddr->sa_family == AF_INET6)
        memcpy(address->bytes, &((const struct sockaddr_in6 *)(const void *)sockaddr)->sin6_addr, 16);
}

static enum err parse_plain(struct text text, struct address *address)
{
    char copy[INET6_ADDRSTRLEN];
    struct in_addr v4;
    if (text_copy(copy, sizeof copy, text) != OK || strlen(copy) != text.len)
        return ERR_INVALID;
    if (inet_pton(AF_INET, copy, &v4) == 1) {
        set_v4(address, &v4);
        return OK;
    }
    return inet_pton(AF_INET6, copy, address->bytes) == 1 ? OK : ERR_INVALID;
}

static bool is_port(struct text text)
{
    int64_t port;
    return text_int(text, 0, 65535, &port) == OK;
}

enum err address_parse(struct text text, struct address *address)
{
    text = text_trim(text);
    if (text.len > 2 && text.at[0] == '[') {
        const char *end = memchr(text.at, ']', text.len);
        if (!end)
            return ERR_INVALID;
        struct text inside = {text.at + 1, (size_t)(end - text.at) - 1};
        struct text after = {end + 1, text.len - inside.len - 2};
        if (after.len && (after.at[0] != ':' || !is_port((struct text){after.at + 1, after.len - 1})))
            return ERR_INVALID;
        return memchr(inside.at, ':', inside.len) ? parse_plain(inside, address) : ERR_INVALID;
    }
    const char *colon = text.len ? memchr(text.at, ':', text.len) : NULL;
    if (colon && !memchr(colon + 1, ':', text.len - (size_t)(colon + 1 - text.at))) { /* one colon: IPv4 with a port */
        struct text host = {text.at, (size_t)(colon - text.at)};
        return is_port((struct text){colon + 1, text.len - host.len - 1}) ? parse_plain(host, address) : ERR_INVALID;
    }
    return parse_plain(text, address);
}

enum err networks_parse(struct text text, struct networks *networks)
{
    struct text rest = text, part;
    networks->count = 0;
    while (text_next(&rest, ',', &part)) {
        part = text_trim(part);
        if (part.len == 0)
            continue;
        if (networks->count == NETWORKS_MAX)
            return ERR_TOO_BIG;
        struct text host = part;
        const char *slash = memchr(part.at, '/', part.len);
        if (slash)
            host.len = (size_t)(slash - part.at);
        struct address *address = &networks->items[networks->count].address;
        if (parse_plain(host, address) != OK)
            return ERR_INVALID;
        bool v4 = memchr(host.at, ':', host.len) == NULL;
        int64_t bits = v4 ? 32 : 128;
        if (slash && text_int((struct text){slash + 1, part.len - host.len - 1}, 0, bits, &bits) != OK)
            return ERR_INVALID;
        networks->items[networks->count++].bits = (uint8_t)(v4 ? bits + 96 : bits);
    }
    return OK;
}

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    return rest == 0 || ((a[whole] ^ b[whole]) & (0xff00u >> rest & 0xff)) == 0;
}

bool networks_contain(const struct networks *networks, const struct address *address)
{
    for (size_t i = 0; i < networks->count; i++)
        if (same_prefix(networks->items[i].address.bytes, address->bytes, networks->items[i].bits))
            return true;
    return false;
}

struct address client_address(const struct networks *trusted, const struct address *peer, struct text forwarded)
{
    struct address client = *peer;
    while (networks_contain(trusted, &client) && forwarded.len > 0) {
        size_t start = forwarded.len;
        while (start > 0 && forwarded.at[start - 1] != ',')
            start--;
        struct address next;
        if (address_parse((struct text){forwarded.at + start, forwarded.len - start}, &next) != OK)
            break;
        client = next;
        forwarded.len = start > 0 ? start - 1 : 0;
    }
    return client;
}

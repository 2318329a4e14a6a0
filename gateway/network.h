/** Addresses and networks: CIDR lists, and the client's address behind trusted proxies. Pure. IPv4 is kept as its
 * IPv6-mapped form, so one comparison serves both. */
#ifndef ANTEROOM_GATEWAY_NETWORK_H
#define ANTEROOM_GATEWAY_NETWORK_H

#include "common/base/err.h"
#include "common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

struct address {
    uint8_t bytes[16];
};

#define NETWORKS_MAX 64

struct networks {
    size_t count;
    struct {
        struct address address;
        uint8_t bits;
    } items[NETWORKS_MAX];
};

/** "10.0.0.1", "[::1]:443", "::ffff:10.0.0.1", "10.0.0.1:9"; no names. ERR_INVALID. */
MUST_CHECK enum err address_parse(struct text text, struct address *address);
void address_of(const struct sockaddr *sockaddr, struct address *address);
bool address_is_v4(const struct address *address);
/** "10.0.0.0/8, ::1/128, 192.168.1.1": commas or blanks between. ERR_INVALID, ERR_TOO_BIG. */
MUST_CHECK enum err networks_parse(struct text text, struct networks *networks);
bool networks_contain(const struct networks *networks, const struct address *address);
/** PEER, or where PEER is trusted: the first address from the right of FORWARDED (an X-Forwarded-For, all of them
 * joined by ',') that is not trusted. An entry that is no address ends the search at what was found so far. Never the
 * leftmost merely for being there. */
struct address client_address(const struct networks *trusted, const struct address *peer, struct text forwarded);

#endif

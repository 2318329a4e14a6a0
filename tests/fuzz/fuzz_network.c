/* First line: networks we trust; second: the peer; third: X-Forwarded-For. The client's address is the peer's or one of
 * the list's, and everybody to the right of it is trusted: nobody outside can choose it. */
#include "tests/fuzz/fuzz.h"

#include "gateway/network.h"

static bool is_at(const struct networks *trusted, const struct address *peer, struct text list,
                  const struct address *client)
{
    struct address hop = *peer;
    for (;;) {
        if (memcmp(hop.bytes, client->bytes, sizeof hop.bytes) == 0)
            return true;
        if (!networks_contain(trusted, &hop) || list.len == 0) /* behind it nothing may be believed */
            return false;
        size_t start = list.len;
        while (start > 0 && list.at[start - 1] != ',')
            start--;
        if (address_parse((struct text){list.at + start, list.len - start}, &hop) != OK)
            return false;
        list.len = start ? start - 1 : 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {{(const char *)data, size}};
    struct networks trusted = {0}, nobody = {0};
    struct address peer = {{0}}, client, one;
    if (networks_parse(input_line(&input), &trusted) != OK)
        trusted.count = 0;
    CHECK(trusted.count <= NETWORKS_MAX);
    for (size_t i = 0; i < trusted.count; i++)
        CHECK(trusted.items[i].bits <= 128 && networks_contain(&trusted, &trusted.items[i].address));
    if (address_parse(input_line(&input), &peer) == OK)
        one = peer;
    client = client_address(&trusted, &peer, input.rest);
    CHECK(is_at(&trusted, &peer, input.rest, &client));
    CHECK(networks_contain(&trusted, &peer) || memcmp(client.bytes, peer.bytes, sizeof peer.bytes) == 0);
    one = client_address(&nobody, &peer, input.rest);
    CHECK(memcmp(one.bytes, peer.bytes, sizeof peer.bytes) == 0);
    return 0;
}

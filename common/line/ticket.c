#include "common/line/ticket.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/line/memory.h"

#include <inttypes.h>
#include <jansson.h>

/* {"alg":"HS256","typ":"anteroom-ticket+jwt"} */
#define HEADER_ENCODED "eyJhbGciOiJIUzI1NiIsInR5cCI6ImFudGVyb29tLXRpY2tldCtqd3QifQ"
#define AUDIENCE "anteroom-gateway"

static enum err write_claims(const struct ticket *ticket, struct buf *out)
{
    enum err err = buf_format(out,
                              "{\"aud\":\"" AUDIENCE "\",\"session\":\"%s\",\"place\":\"%s\",\"epoch\":%" PRIu64
                              ",\"ticket\":%" PRIu64 ",\"gen\":%" PRIu32,
                              ticket->session, ticket->place, ticket->epoch, ticket->number, ticket->gen);
    if (err == OK && ticket->number == 0)
        err = buf_format(out, ",\"lobby\":%" PRIu64, ticket->order);
    if (err == OK && ticket->first)
        err = buf_format(out, ",\"first\":%" PRIu32, ticket->first);
    if (err == OK && ticket->user[0]) {
        err = buf_text(out, TEXT(",\"user\":\""));
        if (err == OK)
            err = buf_json(out, text_of(ticket->user));
        if (err == OK)
            err = buf_text(out, TEXT("\""));
    }
    return err == OK ? buf_text(out, TEXT("}")) : err;
}

enum err token_sign_ticket(const struct token_key *key, const struct ticket *ticket, char *dst, size_t size)
{
    struct buf claims;
    CHECK(key->alg == TOKEN_HS256);
    buf_init(&claims, TOKEN_MAX);
    enum err err = write_claims(ticket, &claims);
    if (err == OK)
        err = jws_seal(key, TEXT(HEADER_ENCODED), buf_view(&claims), dst, size);
    buf_finish(&claims);
    return err;
}

static bool get_text(const json_t *claims, const char *name, char *dst, size_t size)
{
    const json_t *value = json_object_get(claims, name);
    return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value) &&
           text_copy(dst, size, text_of(json_string_value(value))) == OK;
}

static bool get_number(const json_t *claims, const char *name, int64_t min, int64_t max, uint64_t *out)
{
    const json_t *value = json_object_get(claims, name);
    if (!json_is_integer(value) || json_integer_value(value) < min || json_integer_value(value) > max)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_claims(const json_t *claims, struct ticket *ticket)
{
    char audience[sizeof AUDIENCE + 1];
    uint64_t gen, first = 0;
    if (!get_text(claims, "aud", audience, sizeof audience) || strcmp(audience, AUDIENCE) != 0)
        return false;
    if (!get_text(claims, "session", ticket->session, sizeof ticket->session) ||
        !get_text(claims, "place", ticket->place, sizeof ticket->place) ||
        !get_number(claims, "epoch", 1, (int64_t)1 << 53, &ticket->epoch) ||
        !get_number(claims, "ticket", 0, (int64_t)1 << 53, &ticket->number) ||
        !get_number(claims, "gen", 1, UINT32_MAX, &gen))
        return false;
    if (json_object_get(claims, "lobby") && !get_number(claims, "lobby", 0, (int64_t)1 << 53, &ticket->order))
        return false;
    if (json_object_get(claims, "first") && !get_number(claims, "first", 1, UINT32_MAX, &first))
        return false;
    if (json_object_get(claims, "user") && !get_text(claims, "user", ticket->user, sizeof ticket->user))
        return false;
    ticket->gen = (uint32_t)gen;
    ticket->first = (uint32_t)first;
    return session_id_valid(text_of(ticket->session)) && place_id_valid(text_of(ticket->place));
}

/* The one header we write is the one header we take: no algorithm to confuse. */
static bool signature_holds(const struct token_key *key, struct text token, struct text *claims)
{
    unsigned char wanted[KEY_MAC_LEN], given[KEY_MAC_LEN + 1];
    struct text rest = token, head, signature;
    size_t len;
    if (!text_next(&rest, '.', &head) || !text_next(&rest, '.', claims) || !text_next(&rest, '.', &signature) ||
        rest.at || !text_is(head, HEADER_ENCODED) || base64url_decode(given, sizeof given, signature, &len) != OK ||
        len != KEY_MAC_LEN)
        return false;
    return token_key_mac(key, (struct text){token.at, head.len + 1 + claims->len}, wanted) &&
           text_equal_secret((struct text){(const char *)given, KEY_MAC_LEN},
                             (struct text){(const char *)wanted, KEY_MAC_LEN});
}

static bool read_ticket(const struct token_key *key, struct text token, struct ticket *ticket)
{
    uint8_t bytes[TOKEN_MAX];
    struct text part;
    size_t len;
    if (token.len >= TOKEN_MAX || !signature_holds(key, token, &part) ||
        base64url_decode(bytes, sizeof bytes, part, &len) != OK)
        return false;
    json_t *claims = json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES, NULL);
    bool good = claims && read_claims(claims, ticket);
    json_decref(claims);
    return good;
}

enum err token_verify_ticket(const struct token_key *key, struct text token, struct ticket *ticket)
{
    size_t refused = memory_refused();
    CHECK(key->alg == TOKEN_HS256);
    *ticket = (struct ticket){.epoch = 0};
    bool good = read_ticket(key, token, ticket);
    return memory_refused() != refused ? ERR_NOMEM : good ? OK : ERR_DENIED;
}

/* Resume tickets. What we sign verifies to the same and signs to the same bytes; one turned bit, or bytes from
 * elsewhere, never verify; claims that only somebody with the key could write are read, or refused. */
#include "tests/fuzz/fuzz.h"

#include "common/line/jws.h"
#include "common/line/ticket.h"

#include <stdlib.h>

static struct token_key *the_key(void)
{
    static struct token_key *key;
    const char *reason;
    CHECK(key || token_key_of_bytes(&key, TOKEN_HS256, TEXT("0123456789abcdef0123456789abcdef"), true, &reason) == OK);
    return key;
}

static void same_again(const struct ticket *ticket, const char *token)
{
    char again[TOKEN_MAX];
    CHECK(token_sign_ticket(the_key(), ticket, again, sizeof again) == OK);
    CHECK(strcmp(again, token) == 0);
}

static void forged(char *token, uint64_t seed)
{
    struct ticket ticket;
    flip(token, strlen(token), seed);
    CHECK(token_verify_ticket(the_key(), text_of(token), &ticket) == ERR_DENIED);
}

static void of_fields(struct input input)
{
    struct ticket ticket = {.epoch = 0}, back;
    char token[TOKEN_MAX];
    uint64_t seed = input_number(&input);
    ticket.epoch = 1 + input_number(&input) % (UINT64_C(1) << 53);
    ticket.number = input_number(&input) % (UINT64_C(1) << 53);
    ticket.order = ticket.number ? 0 : input_number(&input) % (UINT64_C(1) << 53);
    ticket.gen = 1 + (uint32_t)(input_number(&input) % UINT32_MAX);
    ticket.first = (uint32_t)input_number(&input);
    id_of(ticket.session, 1 + seed % SESSION_ID_MAX, input.rest);
    id_of(ticket.place, PLACE_ID_LEN, input.rest);
    id_of(ticket.user, seed % USER_ID_MAX, input.rest);
    CHECK(token_sign_ticket(the_key(), &ticket, token, sizeof token) == OK);
    CHECK(token_verify_ticket(the_key(), text_of(token), &back) == OK);
    CHECK(strcmp(back.session, ticket.session) == 0 && strcmp(back.place, ticket.place) == 0 &&
          strcmp(back.user, ticket.user) == 0 && back.epoch == ticket.epoch && back.number == ticket.number &&
          back.order == ticket.order && back.gen == ticket.gen && back.first == ticket.first);
    same_again(&back, token);
    forged(token, seed);
}

/* The claims are the input's, the signature is right. */
static void of_claims(struct text claims)
{
    static const char header[] = "eyJhbGciOiJIUzI1NiIsInR5cCI6ImFudGVyb29tLXRpY2tldCtqd3QifQ.";
    char token[TOKEN_MAX], again[TOKEN_MAX];
    unsigned char mac[KEY_MAC_LEN];
    struct ticket ticket, back;
    size_t len = sizeof header - 1;
    if (len + BASE64URL_LEN(claims.len) + 1 + BASE64URL_LEN(KEY_MAC_LEN) >= sizeof token)
        return;
    memcpy(token, header, len);
    base64url_encode(token + len, claims.at ? claims.at : "", claims.len);
    len += BASE64URL_LEN(claims.len);
    CHECK(token_key_mac(the_key(), (struct text){token, len}, mac));
    token[len++] = '.';
    base64url_encode(token + len, mac, KEY_MAC_LEN);
    token[len + BASE64URL_LEN(KEY_MAC_LEN)] = '\0';
    if (token_verify_ticket(the_key(), text_of(token), &ticket) != OK)
        return;
    CHECK(session_id_valid(text_of(ticket.session)) && place_id_valid(text_of(ticket.place)) && ticket.epoch > 0);
    CHECK(token_sign_ticket(the_key(), &ticket, again, sizeof again) == OK);
    CHECK(token_verify_ticket(the_key(), text_of(again), &back) == OK);
    same_again(&back, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text in = {(const char *)data, size};
    struct ticket ticket;
    char token[TOKEN_MAX];
    if (token_verify_ticket(the_key(), in, &ticket) == OK) { /* from the corpus */
        CHECK(text_copy(token, sizeof token, in) == OK);
        same_again(&ticket, token);
    }
    of_claims(in);
    of_fields((struct input){in});
    return 0;
}

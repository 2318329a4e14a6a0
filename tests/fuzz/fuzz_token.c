/* Entry and user tokens. What we sign verifies to the same; one turned bit never does; header and claims that only the
 * key's owner could have signed are read, or refused, and nothing that is read is outside its alphabet. */
#include "tests/fuzz/fuzz.h"

#include "common/line/jws.h"
#include "common/line/token.h"

#define NOW_S INT64_C(1800000000)

static struct keyring ring;

static const struct keyring *the_ring(void)
{
    const char *reason;
    if (ring.count == 0)
        CHECK(token_key_of_bytes(&ring.keys[ring.count++], TOKEN_HS256, TEXT("0123456789abcdef0123456789abcdef"), true,
                                 &reason) == OK);
    return &ring;
}

static const struct entry_rules entry_rules = {.issuer = "anteroom"};
static const struct user_rules user_rules = {"", "", "sub", TOKEN_LEEWAY_S};

static void holds(struct text token)
{
    struct entry entry;
    char user[USER_ID_MAX + 1];
    int64_t issued, expires;
    if (token_verify_entry(the_ring(), token, &entry_rules, NOW_S, &entry) == OK) {
        CHECK(session_id_valid(text_of(entry.session)) && place_id_valid(text_of(entry.place)));
        CHECK(entry.expires_s > NOW_S - TOKEN_LEEWAY_S && entry.expires_s <= TOKEN_INSTANT_MAX_S);
        CHECK(token_entry_times(token, &issued, &expires) != OK || expires == entry.expires_s);
        for (const char *c = entry.user; *c; c++)
            CHECK((unsigned char)*c >= ' ');
    }
    if (token_verify_user(the_ring(), token, &user_rules, NOW_S, user) == OK) {
        CHECK(user[0] && strlen(user) <= USER_ID_MAX);
        for (const char *c = user; *c; c++)
            CHECK((unsigned char)*c >= ' ');
    }
}

static void of_fields(struct input input)
{
    char session[SESSION_ID_MAX + 1], subject[USER_ID_MAX + 1], place[PLACE_ID_LEN + 1], token[TOKEN_MAX];
    uint64_t seed = input_number(&input);
    struct entry entry;
    id_of(session, 1 + seed % SESSION_ID_MAX, input.rest);
    id_of(subject, 1 + seed % USER_ID_MAX, input.rest);
    id_of(place, PLACE_ID_LEN, input.rest);
    struct entry_claims claims = {.issuer = TEXT("anteroom"),
                                  .session = text_of(session),
                                  .subject = text_of(subject),
                                  .place = text_of(place),
                                  .ticket = seed % (UINT64_C(1) << 53),
                                  .issued_s = NOW_S - (int64_t)(seed % 1000),
                                  .expires_s = NOW_S + 1 + (int64_t)(seed % 100000)};
    CHECK(token_sign_entry(the_ring()->keys[0], &claims, token, sizeof token) == OK);
    CHECK(token_verify_entry(the_ring(), text_of(token), &entry_rules, NOW_S, &entry) == OK);
    CHECK(strcmp(entry.session, session) == 0 && strcmp(entry.place, place) == 0 && strcmp(entry.user, subject) == 0 &&
          entry.expires_s == claims.expires_s);
    CHECK(token_verify_entry(the_ring(), text_of(token), &entry_rules, claims.expires_s + TOKEN_LEEWAY_S, &entry) ==
          ERR_DENIED);
    flip(token, strlen(token), seed);
    CHECK(token_verify_entry(the_ring(), text_of(token), &entry_rules, NOW_S, &entry) == ERR_DENIED);
}

/* The first line is the header, what follows the claims; the signature is right. KID names our key in the header. */
static void of_texts(struct text header, struct text claims)
{
    char token[TOKEN_MAX];
    unsigned char mac[KEY_MAC_LEN];
    if (BASE64URL_LEN(header.len) + BASE64URL_LEN(claims.len) + BASE64URL_LEN(KEY_MAC_LEN) + 3 > sizeof token)
        return;
    size_t len = BASE64URL_LEN(header.len);
    base64url_encode(token, header.at ? header.at : "", header.len);
    token[len++] = '.';
    base64url_encode(token + len, claims.at ? claims.at : "", claims.len);
    len += BASE64URL_LEN(claims.len);
    CHECK(token_key_mac(the_ring()->keys[0], (struct text){token, len}, mac));
    token[len++] = '.';
    base64url_encode(token + len, mac, KEY_MAC_LEN);
    holds((struct text){token, len + BASE64URL_LEN(KEY_MAC_LEN)});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text in = {(const char *)data, size};
    struct input lines = {in};
    char own[256];
    int64_t issued, expires;
    holds(in);
    if (token_entry_times(in, &issued, &expires) == OK)
        CHECK(issued >= 0 && expires >= 0);
    struct text header = input_line(&lines);
    of_texts(header, lines.rest);
    snprintf(own, sizeof own, "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", token_key_id(the_ring()->keys[0]));
    of_texts(text_of(own), in);
    of_fields((struct input){in});
    return 0;
}

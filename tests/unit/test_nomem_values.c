/* Memory runs out at every allocation of what reads and writes values, one after the other: the result is right or
 * ERR_NOMEM (never that something is not valid), and nothing is leaked. */
#include "common/base/metrics.h"
#include "common/line/config.h"
#include "common/line/jwk.h"
#include "common/line/memory.h"
#include "common/line/ticket.h"
#include "common/line/token.h"
#include "gateway/positions.h"
#include "publisher/draw.h"
#include "tests/support/nomem.h"
#include "tests/support/redis_words.h"
#include "tests/support/unit.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACE "abcdefghijklmnopqrstuv"
#define SWEEP_MAX 5000

static struct keyring ring, es256, rs256;

static struct token_key *the_key(void)
{
    return ring.keys[0];
}

#define T(literal)                     \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
static const struct entry_claims claims = {T("anteroom"), T("s"), T("user-1"), T(PLACE), 7, 1000, 1600};
static const struct ticket sample = {"s", PLACE, "u", 17, 990, 0, 3, 870};
static char entry_token[TOKEN_MAX], ticket_token[TOKEN_MAX];
static struct redis_reply *config_hash, *drawn;
static json_t *config_body, *config_before, *jwks;

static void right_or_nomem(bool failed, enum err err)
{
    assert_true(err == OK || (failed && err == ERR_NOMEM));
}

static bool verify_entry(void)
{
    const struct entry_rules rules = {"anteroom", TEXT("s")};
    struct entry entry;
    enum err err = token_verify_entry(&ring, text_of(entry_token), &rules, 1200, &entry);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    assert_true(err != OK || (strcmp(entry.place, PLACE) == 0 && entry.expires_s == 1600));
    return failed;
}

static bool sign_entry(void)
{
    char token[TOKEN_MAX];
    enum err err = token_sign_entry(the_key(), &claims, token, sizeof token);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    assert_true(err != OK || strcmp(token, entry_token) == 0);
    return failed;
}

static bool sign_entry_with(struct keyring *pair)
{
    const struct entry_rules rules = {"anteroom", TEXT("s")};
    char token[TOKEN_MAX];
    struct entry entry;
    enum err err = token_sign_entry(pair->keys[0], &claims, token, sizeof token);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    assert_true(err != OK || token_verify_entry(pair, text_of(token), &rules, 1200, &entry) == OK);
    return failed;
}

static bool sign_entry_es256(void)
{
    return sign_entry_with(&es256);
}

static bool sign_entry_rs256(void)
{
    return sign_entry_with(&rs256);
}

static bool verify_entry_es256(void)
{
    const struct entry_rules rules = {"anteroom", TEXT("s")};
    static char token[TOKEN_MAX];
    struct entry entry;
    if (!token[0]) {
        nomem_disarm();
        assert_int_equal(token_sign_entry(es256.keys[0], &claims, token, sizeof token), OK);
        nomem_arm(0);
    }
    enum err err = token_verify_entry(&es256, text_of(token), &rules, 1200, &entry);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    return failed;
}

static bool verify_user(void)
{
    const struct user_rules rules = {"anteroom", "s", "sub", 30};
    char user[USER_ID_MAX + 1];
    enum err err = token_verify_user(&ring, text_of(entry_token), &rules, 1200, user);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    assert_true(err != OK || strcmp(user, "user-1") == 0);
    return failed;
}

static bool sign_ticket(void)
{
    char token[TOKEN_MAX];
    enum err err = token_sign_ticket(the_key(), &sample, token, sizeof token);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    assert_true(err != OK || strcmp(token, ticket_token) == 0);
    return failed;
}

static bool verify_ticket(void)
{
    struct ticket ticket;
    enum err err = token_verify_ticket(the_key(), text_of(ticket_token), &ticket);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    assert_true(err != OK || (ticket.number == 990 && strcmp(ticket.user, "u") == 0));
    return failed;
}

static bool peek_entry(void)
{
    int64_t issued = 0, expires = 0;
    enum err err = token_entry_times(text_of(entry_token), &issued, &expires);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    assert_true(err != OK || (issued == 1000 && expires == 1600));
    return failed;
}

static bool read_jwk(void)
{
    const char *reason = NULL;
    struct token_key *key = NULL;
    enum err err = jwk_read(&key, TOKEN_ES256, jwks, &reason);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    if (err == OK)
        token_key_destroy(key);
    return failed;
}

static bool write_jwk(void)
{
    static struct token_key *key;
    const char *reason = NULL;
    struct buf out;
    if (!key) {
        bool failed = nomem_disarm();
        assert_int_equal(jwk_read(&key, TOKEN_ES256, jwks, &reason), OK);
        (void)failed;
        nomem_arm(0);
    }
    buf_init(&out, 65536);
    enum err err = jwk_write(&out, key);
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    buf_finish(&out);
    if (!failed) {
        token_key_destroy(key);
        key = NULL;
    }
    return failed;
}

/* Wrong fields never count as right, whatever fails. */
static bool check_config(void)
{
    static struct config_change change;
    json_t *wrong = json_object_get(config_body, "wrong"), *right = json_object_get(config_body, "right");
    json_t *errors = json_array(), *none = json_array();
    enum err bad = config_check(wrong, true, &change, errors), good = config_check(right, true, &change, none);
    bool failed = nomem_disarm();
    json_decref(errors);
    json_decref(none);
    assert_true(bad == ERR_INVALID || (failed && bad == ERR_NOMEM));
    right_or_nomem(failed, good);
    return failed;
}

static bool show_config(void)
{
    json_t *shown = config_json(config_hash);
    bool failed = nomem_disarm();
    assert_true(failed || shown);
    assert_true(!shown || json_equal(shown, config_before));
    json_decref(shown);
    return failed;
}

/* Large enough that the text's buffer grows at names, too. */
static bool write_json(void)
{
    char *text = memory_dumps(config_before, JSON_COMPACT);
    bool failed = nomem_disarm();
    json_t *again = text ? json_loads(text, 0, NULL) : NULL;
    assert_true(failed || text);
    assert_true(!text || (again && json_equal(again, config_before)));
    json_decref(again);
    free(text);
    return failed;
}

static bool merge_config(void)
{
    json_t *patch = json_object_get(config_body, "patch"), *merged = config_merge(config_before, patch);
    bool failed = nomem_disarm();
    assert_true(failed || merged);
    if (merged) { /* the whole of it: what was not named stays */
        const json_t *adaptive = json_object_get(merged, "adaptive");
        assert_int_equal(json_integer_value(json_object_get(adaptive, "maxCount")), 50);
        assert_true(json_number_value(json_object_get(adaptive, "maxTps")) == 77);
        assert_null(json_object_get(adaptive, "minCount"));
    }
    json_decref(merged);
    return failed;
}

static bool decode_draw(void)
{
    struct draw draw;
    draw_decode(OK, drawn, &draw);
    bool failed = nomem_disarm();
    assert_int_equal(draw.outcome, failed ? LINE_FAILED : LINE_OK);
    draw_finish(&draw);
    return failed;
}

static bool positions_all(void)
{
    struct positions positions;
    positions_init(&positions);
    enum err err = positions_load(
        &positions,
        &(struct positions_picture){.epoch = 1, .rev = 1, .tail = 100, .waiting = 100, .bits = TEXT("\x40")});
    if (err == OK)
        err = positions_advance(&positions, 2, 0, 0, 100000, 99998, TEXT("5,+5000"));
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    assert_true(err != OK || positions_departed(&positions, 5005));
    positions_finish(&positions);
    return failed;
}

static bool metrics_all(void)
{
    static const struct metric_def defs[] = {{"hits_total", "Hits.", METRIC_COUNTER, {"session", "code"}},
                                             {"span_seconds", "Span.", METRIC_HISTOGRAM, {NULL}}};
    struct metrics *metrics = NULL;
    struct buf out;
    buf_init(&out, 1 << 20);
    enum err err = metrics_create(&metrics, defs, ROWS(defs), 100);
    if (err == OK) {
        for (int i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof name, "s%d", i);
            metrics_add(metrics, 0, 1, name, "200", NULL);
        }
        metrics_observe(metrics, 1, 0.5, NULL, NULL, NULL);
        err = metrics_render(metrics, &out);
        metrics_drop(metrics, "s1");
        metrics_destroy(metrics);
    }
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    buf_finish(&out);
    return failed;
}

static bool escape(void)
{
    struct buf out;
    buf_init(&out, 65536);
    enum err err = OK;
    for (int i = 0; i < 200 && err == OK; i++)
        err = buf_json(&out, TEXT("quote \" and \x01 and \xff; "));
    bool failed = nomem_disarm();
    right_or_nomem(failed, err);
    buf_finish(&out);
    return failed;
}

static const struct {
    const char *name;
    bool (*run)(void); /* disarms; true: an allocation failed */
} operations[] = {
    {"verify an entry token", verify_entry},
    {"verify one of ES256", verify_entry_es256},
    {"verify a user token", verify_user},
    {"sign an entry token", sign_entry},
    {"sign one of ES256", sign_entry_es256},
    {"sign one of RS256", sign_entry_rs256},
    {"sign a ticket", sign_ticket},
    {"verify a ticket", verify_ticket},
    {"look into an entry token", peek_entry},
    {"read a JWK", read_jwk},
    {"write a JWK", write_jwk},
    {"check a config", check_config},
    {"show a config", show_config},
    {"write a config", write_json},
    {"merge a config", merge_config},
    {"decode a draw", decode_draw},
    {"positions", positions_all},
    {"the metrics page", metrics_all},
    {"escape for JSON", escape},
};

static void every_allocation_may_fail(void **state)
{
    (void)state;
    size_t total = 0;
    for (size_t i = 0; i < ROWS(operations); i++) {
        size_t n = 0;
        for (bool failed = true; failed; n++) {
            assert_true(n < SWEEP_MAX);
            nomem_arm(n);
            failed = operations[i].run();
        }
        assert_true(n > 1); /* else nothing was swept */
        print_message("%s: %zu allocations\n", operations[i].name, n - 1);
        total += n - 1;
    }
    print_message("%zu in all\n", total);
}

/* A private key that signs and verifies. */
static bool make_pair(struct keyring *pair, enum token_alg alg, EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());
    struct token_key *key;
    const char *reason;
    char *at;
    bool good = PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL) == 1;
    long len = BIO_get_mem_data(bio, &at);
    good = good && token_key_of_bytes(&key, alg, (struct text){at, (size_t)len}, true, &reason) == OK &&
           keyring_add(pair, key) == OK;
    BIO_free(bio);
    EVP_PKEY_free(pkey);
    return good;
}

static int setup(void **state)
{
    (void)state;
    const char *reason;
    const char *const hash[] = {"batch",    "7",
                                "adaptive", "{\"minTps\":1,\"maxTps\":2,\"minCount\":3,\"maxCount\":50}",
                                "status",   "open",
                                "version",  "3",
                                "entryUrl", "https://shop.example/in",
                                NULL};
    const char *const draw[] = {"ok", "#17", "#0", PLACE, "#7", "gw.abcdefgh", PLACE, "#8", "other.abcdefgh", NULL};
    config_hash = reply_words(hash);
    config_before = config_json(config_hash);
    drawn = reply_words(draw);
    config_body =
        json_pack("{s:{s:i, s:s, s:i}, s:{s:i, s:s}, s:{s:{s:i, s:n}}}", "wrong", "batch", 0, "nonsense", "x", "stock",
                  -2, "right", "batch", 5, "status", "paused", "patch", "adaptive", "maxTps", 77, "minCount");
    jwks = json_loads("{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e1\","
                      "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
                      "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}",
                      0, NULL); /* RFC 7515, A.3 */
    struct token_key *key;
    if (!make_pair(&es256, TOKEN_ES256, EVP_EC_gen("P-256")) || !make_pair(&rs256, TOKEN_RS256, EVP_RSA_gen(2048)))
        return -1;
    if (!config_before || !config_body || !jwks ||
        token_key_of_bytes(&key, TOKEN_HS256, TEXT("0123456789abcdef0123456789abcdef"), true, &reason) != OK ||
        keyring_add(&ring, key) != OK || token_sign_entry(key, &claims, entry_token, sizeof entry_token) != OK ||
        token_sign_ticket(key, &sample, ticket_token, sizeof ticket_token) != OK)
        return -1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(config_body);
    json_decref(config_before);
    json_decref(jwks);
    reply_words_free(config_hash);
    reply_words_free(drawn);
    keyring_finish(&ring);
    keyring_finish(&es256);
    keyring_finish(&rs256);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };
    nomem_init();
    return cmocka_run_group_tests(tests, setup, teardown);
}

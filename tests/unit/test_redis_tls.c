/* rediss:// against a real server with certificates made for the test. */
#include "tests/support/redis_fixture.h"
#include "tests/support/redis_live.h"

#include <arpa/inet.h>

static struct redis_live live;
static struct redis_fixture fixture;
static unsigned port;

static void shell(const char *script)
{
    char line[2048], program[] = "/bin/sh", flag[] = "-c";
    char *argv[] = {program, flag, line, NULL};
    int len = snprintf(line, sizeof line, "set -e; cd %s; %s", live.folder, script);
    assert_true(len > 0 && (size_t)len < sizeof line);
    assert_true(redis_live_run(argv));
}

/* A port nobody has at the moment. */
static unsigned free_port(void)
{
    uv_loop_t loop;
    uv_tcp_t tcp;
    struct sockaddr_in address;
    int size = sizeof address;
    uv_loop_init(&loop);
    uv_tcp_init(&loop, &tcp);
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_bind(&tcp, (const struct sockaddr *)&address, 0);
    uv_tcp_getsockname(&tcp, (struct sockaddr *)&address, &size);
    uv_close((uv_handle_t *)&tcp, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return ntohs(address.sin_port);
}

static int start_server_named(const char *names)
{
    char number[8], certificate[64], key[64], sign[512];
    redis_live_prepare(&live);
    shell("for ca in good other; do openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
          "-subj /CN=$ca -keyout $ca.key -out $ca.pem; done;"
          "openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=redis "
          "-keyout server.key -out server.csr");
    snprintf(sign, sizeof sign,
             "printf subjectAltName=%s >names; openssl x509 -req -in server.csr -CA good.pem -CAkey good.key "
             "-CAcreateserial -days 2 -extfile names -out server.pem",
             names);
    shell(sign);
    port = free_port();
    snprintf(number, sizeof number, "%u", port);
    snprintf(certificate, sizeof certificate, "%s/server.pem", live.folder);
    snprintf(key, sizeof key, "%s/server.key", live.folder);
    const char *const extra[] = {"--tls-port",
                                 number,
                                 "--tls-cert-file",
                                 certificate,
                                 "--tls-key-file",
                                 key,
                                 "--tls-auth-clients",
                                 "no",
                                 "--tls-ca-cert-file",
                                 certificate,
                                 "--bind",
                                 "127.0.0.1",
                                 NULL};
    return redis_live_start(&live, extra) ? 0 : -1;
}

static int start_server(void **state)
{
    (void)state;
    return start_server_named("DNS:localhost,IP:127.0.0.1");
}

static int stop_server(void **state)
{
    (void)state;
    redis_live_finish(&live);
    return 0;
}

static void begin(const char *host, const char *ca)
{
    char url[64];
    snprintf(url, sizeof url, "rediss://%s:%u", host, port);
    redis_fixture_init(&fixture, url);
    if (ca)
        snprintf(fixture.url.ca_file, sizeof fixture.url.ca_file, "%s/%s", live.folder, ca);
}

static int end(void **state)
{
    (void)state;
    redis_fixture_finish(&fixture);
    return 0;
}

static void a_known_authority_and_the_right_name_or_address_are_accepted(void **state)
{
    (void)state;
    static const char *const hosts[] = {"localhost", "127.0.0.1"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome = {0};
        begin(hosts[i], "good.pem");
        redis_fixture_up(&fixture);
        redis_fixture_ask(&fixture, &outcome, "ECHO secret");
        assert_string_equal(outcome.text, "secret");
        end(NULL);
    }
    begin("localhost", "good.pem");
}

static void big_commands_and_answers_go_through(void **state)
{
    (void)state;
    enum { BYTES = 5000000, COUNT = 2000 };
    static struct outcome outcomes[COUNT];
    char *big = malloc(BYTES);
    struct outcome outcome = {.fixture = &fixture};
    assert_non_null(big);
    memset(big, 'b', BYTES);
    begin("localhost", "good.pem");
    redis_fixture_up(&fixture);
    struct text echo[] = {TEXT("ECHO"), {big, BYTES}};
    assert_int_equal(redis_call(fixture.redis, 2, echo, 10000, redis_fixture_answer, &outcome), OK);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(redis_fixture_call(&fixture, &outcomes[i], 10000, "ECHO small"), OK);
    UNTIL(&fixture, redis_pending(fixture.redis) == 0);
    assert_int_equal(outcome.text_len, BYTES);
    for (size_t i = 0; i < COUNT; i++)
        assert_string_equal(outcomes[i].text, "small");
    free(big);
}

static void wait_for_verdict(const char *verdict)
{
    redis_fixture_start(&fixture);
    UNTIL(&fixture, strstr(fixture.detail, verdict));
    assert_int_equal(fixture.ups, 0);
}

/* The certificate has only the name, so the address is the wrong one, and the other way round. */
static void a_certificate_for_another_name_or_address_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *host, *names, *verdict;
    } rows[] = {
        {"localhost", "DNS:elsewhere,DNS:localhost.example,IP:127.0.0.1", "certificate refused: hostname mismatch"},
        {"127.0.0.1", "DNS:localhost,DNS:127.0.0.1,IP:127.0.0.2", "certificate refused: IP address mismatch"},
    };
    for (size_t i = 0; i < 2; i++) {
        redis_live_finish(&live);
        assert_int_equal(start_server_named(rows[i].names), 0);
        begin(rows[i].host, "good.pem");
        redis_fixture_start(&fixture);
        UNTIL(&fixture, strstr(fixture.detail, "TLS")); /* until it listens, it is refused otherwise */
        assert_string_equal(fixture.detail + strlen("TLS: "), rows[i].verdict);
        assert_int_equal(fixture.ups, 0);
        end(NULL);
    }
    redis_live_finish(&live);
    assert_int_equal(start_server(NULL), 0);
    begin("localhost", "good.pem");
    redis_fixture_up(&fixture);
}

static void a_certificate_of_an_unknown_authority_is_refused(void **state)
{
    (void)state;
    static const char *const authorities[] = {"other.pem", NULL}; /* NULL: the system's */
    for (size_t i = 0; i < 2; i++) {
        begin("localhost", authorities[i]);
        wait_for_verdict("certificate refused: unable to get local issuer certificate");
        end(NULL);
    }
    begin("localhost", "good.pem");
}

static void a_missing_file_of_authorities_is_told(void **state)
{
    (void)state;
    begin("localhost", "missing.pem");
    wait_for_verdict("TLS: no certificates could be read from /tmp/");
}

static void closing_while_tls_is_being_set_up_leaves_nothing(void **state)
{
    (void)state;
    for (int turns = 1; turns < 10; turns++) {
        begin("localhost", "good.pem");
        redis_fixture_start(&fixture);
        for (int i = 0; i < turns && fixture.ups == 0; i++)
            redis_fixture_turn(&fixture);
        end(NULL);
    }
    begin("localhost", "good.pem");
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_known_authority_and_the_right_name_or_address_are_accepted),
        TEST(big_commands_and_answers_go_through),
        TEST(a_certificate_for_another_name_or_address_is_refused),
        TEST(a_certificate_of_an_unknown_authority_is_refused),
        TEST(a_missing_file_of_authorities_is_told),
        TEST(closing_while_tls_is_being_set_up_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}

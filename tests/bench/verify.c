/* How long it takes to verify an entry token, as a gateway does at each request of the site: verify ALG SECONDS prints
 * microseconds of CPU a token. */
#include "common/line/token.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double cpu_us(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (double)spent.tv_sec * 1e6 + (double)spent.tv_nsec / 1e3;
}

static void give_up(const char *what)
{
    fprintf(stderr, "verify: %s\n", what);
    exit(1);
}

/* A new key in a file of its own. */
static void write_key(enum token_alg alg, const char *path, bool private)
{
    static EVP_PKEY *pkey;
    FILE *file = fopen(path, "w");
    if (!pkey && alg != TOKEN_HS256)
        pkey = alg == TOKEN_RS256 ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    int done = !file                ? 0
               : alg == TOKEN_HS256 ? fputs("0123456789012345678901234567890123456789", file)
               : private            ? PEM_write_PrivateKey(file, pkey, NULL, NULL, 0, NULL, NULL)
                                    : PEM_write_PUBKEY(file, pkey);
    if (done <= 0 || fclose(file) != 0)
        give_up("cannot write a key");
}

static void load(struct keyring *ring, enum token_alg alg, bool private)
{
    char path[] = "/tmp/anteroom-bench-key.XXXXXX", why[256];
    int fd = mkstemp(path);
    if (fd < 0)
        give_up("cannot make a file");
    close(fd);
    write_key(alg, path, private);
    enum err err = keyring_load_pair(ring, alg, path, "", "", private, why, sizeof why);
    unlink(path);
    if (err != OK)
        give_up(why);
}

int main(int argc, char **argv)
{
    const struct entry_claims claims = {
        TEXT("anteroom"), TEXT("s"), TEXT("user-1"), TEXT("abcdefghijklmnopqrstuv"), 7, 1000, 1600};
    const struct entry_rules rules = {"anteroom", TEXT("s")};
    struct keyring signing, verifying;
    struct entry entry;
    char token[TOKEN_MAX];
    enum token_alg alg;
    if (argc != 3 || token_alg_parse(text_of(argv[1]), &alg) != OK)
        give_up("usage: verify ALG SECONDS");
    load(&signing, alg, true);
    load(&verifying, alg, false);
    if (token_sign_entry(signing.keys[0], &claims, token, sizeof token) != OK)
        give_up("cannot sign");
    long count = 0;
    double begun = cpu_us(), wanted = atof(argv[2]) * 1e6;
    for (; cpu_us() - begun < wanted; count++)
        if (token_verify_entry(&verifying, text_of(token), &rules, 1000, &entry) != OK)
            give_up("a good token was refused");
    printf("%.2f\n", (cpu_us() - begun) / (double)count);
    keyring_finish(&signing);
    keyring_finish(&verifying);
    return 0;
}

#include "common/redis/client.h"

#include "common/base/check.h"

#include <openssl/evp.h>

#define SHA1_BYTES 20
/* What stands between the number of arguments and the number of keys in "EVALSHA <sha1> <numkeys> ...". */
#define EVALSHA_LEN (sizeof "$7\r\nEVALSHA\r\n$40\r\n" - 1 + 40 + 2)

void redis_script_prepare(struct redis_script *script)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    int result = EVP_Digest(script->body, strlen(script->body), digest, &len, EVP_sha1(), NULL);
    CHECK(result == 1 && len == SHA1_BYTES);
    hex_encode(script->sha1, digest, SHA1_BYTES);
    script->sha1[2 * SHA1_BYTES] = '\0';
}

/* EVAL takes what EVALSHA takes, with the body where the hash was: the formatted rest is used as it is. */
static enum err write_whole(const struct redis_request *request, struct buf *out)
{
    const char *newline = memchr(request->bytes, '\n', request->len);
    CHECK(newline);
    size_t count_len = (size_t)(newline - request->bytes) + 1, skipped = count_len + EVALSHA_LEN;
    CHECK(request->len > skipped);
    struct text body = text_of(request->script->body);
    enum err err = buf_append(out, request->bytes, count_len);
    if (err == OK)
        err = buf_format(out, "$4\r\nEVAL\r\n$%zu\r\n", body.len);
    if (err == OK)
        err = buf_text(out, body);
    if (err == OK)
        err = buf_text(out, TEXT("\r\n"));
    return err == OK ? buf_append(out, request->bytes + skipped, request->len - skipped) : err;
}

enum err redis_script_write(const struct redis_request *request, struct buf *out)
{
    size_t before = out->len;
    enum err err = request->whole_script ? write_whole(request, out) : buf_append(out, request->bytes, request->len);
    if (err != OK)
        out->len = before;
    return err;
}

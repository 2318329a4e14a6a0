#include "tests/fuzz/fuzz.h"

#include <jansson.h>

struct text input_line(struct input *input)
{
    struct text line;
    return text_next(&input->rest, '\n', &line) ? line : TEXT("");
}

void input_string(struct input *input, char *dst, size_t size)
{
    struct text line = input_line(input);
    line.len = line.len < size ? line.len : size - 1;
    CHECK(text_copy(dst, size, line) == OK);
}

uint64_t input_number(struct input *input)
{
    uint64_t number = 0;
    size_t take = input->rest.len < sizeof number ? input->rest.len : sizeof number;
    if (take)
        memcpy(&number, input->rest.at, take);
    input->rest.at += take;
    input->rest.len -= take;
    return number;
}

void id_of(char *dst, size_t len, struct text bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t i = 0; i < len; i++)
        dst[i] = letters[(bytes.len ? (unsigned char)bytes.at[i % bytes.len] : i) % 64];
    dst[len] = '\0';
}

void flip(char *dst, size_t len, uint64_t seed)
{
    CHECK(len > 0);
    dst[seed / 8 % len] = (char)(dst[seed / 8 % len] ^ 1 << seed % 8);
}

bool is_json(struct text text)
{
    json_t *json = json_loadb(text.at, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    json_decref(json);
    return json != NULL;
}

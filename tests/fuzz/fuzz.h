/** What every fuzz target includes. A target is one function over one input; libFuzzer drives it (make fuzz), or main.c
 * over the corpus and mutations of it, wherever there is no libFuzzer. CHECK states a property: more than "no crash".
 */
#ifndef ANTEROOM_TESTS_FUZZ_H
#define ANTEROOM_TESTS_FUZZ_H

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/text.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** The input, taken apart from its start. */
struct input {
    struct text rest;
};

/** The next line without its '\n'; "" when nothing is left. */
struct text input_line(struct input *input);
/** Likewise, cut to MAX bytes and copied with a NUL; bytes of NUL end it. */
void input_string(struct input *input, char *dst, size_t size);
/** The next eight bytes, fewer at the end. */
uint64_t input_number(struct input *input);

/** Letters and digits for an id of LEN characters made from BYTES, terminated. */
void id_of(char *dst, size_t len, struct text bytes);
/** One bit of DST turned, chosen by SEED. */
void flip(char *dst, size_t len, uint64_t seed);
/** jansson parses it. */
bool is_json(struct text text);

#endif

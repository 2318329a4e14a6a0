/** What the bodies of a crowd, a load and a notice say. Pure. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_FORM_H
#define ANTEROOM_PUBLISHER_ADMIN_FORM_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_TTL_MAX_S 3600
#define NOTICE_MAX 1000 /* bytes */

struct crowd_form {
    uint32_t count, per_second;
};

struct load_form {
    double tps;
    json_int_t ttl_s;
    const char *key; /* lies in the body, or is the default */
};

/** Each bad or unknown field adds {"field","detail"} to ERRORS (an array); the form counts only where there is none. */
void crowd_form_read(const json_t *body, struct crowd_form *form, json_t *errors);
void load_form_read(const json_t *body, struct load_form *form, json_t *errors);
/** NULL and the text in DST (up to NOTICE_MAX bytes and a NUL), or why it is no notice. */
const char *notice_form_read(const json_t *body, char *dst, size_t size);

#endif

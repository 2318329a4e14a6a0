/** Cookie header values. Pure. */
#ifndef ANTEROOM_HTTP_COOKIE_H
#define ANTEROOM_HTTP_COOKIE_H

#include "common/base/text.h"

/** The value of the first cookie NAME (case matters) in one Cookie header's value, as sent; {NULL, 0} when absent. */
struct text cookie_find(struct text header, const char *name);

#endif

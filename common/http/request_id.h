/** The id that ties an answer, its log lines and the client's report together. */
#ifndef ANTEROOM_HTTP_REQUEST_ID_H
#define ANTEROOM_HTTP_REQUEST_ID_H

#include "common/base/text.h"

#define REQUEST_ID_LEN_MAX 128

/** 1 to 128 of [A-Za-z0-9=;:._-]. */
bool request_id_valid(struct text id);
/** The first valid one of OWN (X-Request-Id) and TRACE (X-Amzn-Trace-Id), else 32 random hex digits; terminated. */
void request_id_choose(char dst[REQUEST_ID_LEN_MAX + 1], struct text own, struct text trace);

#endif

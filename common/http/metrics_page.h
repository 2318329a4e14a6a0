/** The answer to GET /metrics. */
#ifndef ANTEROOM_HTTP_METRICS_PAGE_H
#define ANTEROOM_HTTP_METRICS_PAGE_H

#include "common/base/metrics.h"

struct http_request;

/** Consumes the request. 503 where the text does not fit into memory. */
void http_respond_metrics(struct http_request *request, struct metrics *metrics);

#endif

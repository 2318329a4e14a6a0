#include "common/http/metrics_page.h"

#include "common/base/meter_shared.h"
#include "common/http/response.h"

#define METRICS_BYTES_MAX (32u << 20)

void http_respond_metrics(struct http_request *request, struct metrics *metrics)
{
    struct buf body;
    buf_init(&body, METRICS_BYTES_MAX);
    meter_shared_refresh(metrics);
    if (metrics_render(metrics, &body) == OK)
        http_respond(request, &(struct http_response){.status = 200,
                                                      .type = "text/plain; version=0.0.4; charset=utf-8",
                                                      .body = buf_view(&body)});
    else
        http_respond_problem(request, &(struct http_problem){.status = 503,
                                                             .code = "unavailable",
                                                             .title = "Out of memory",
                                                             .detail = "The metrics do not fit into memory.",
                                                             .retry_after_seconds = 1});
    buf_finish(&body);
}

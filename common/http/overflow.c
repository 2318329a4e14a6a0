#include "common/http/answer.h"

#include "common/base/entropy.h"
#include "common/http/exchange.h"
#include "common/http/refusal.h"
#include "common/http/request.h"

#define OVERFLOW_RETRY_AFTER_S 5

/* Accept lists text/event-stream: in one of its values, with or without parameters. */
static bool wants_events(const struct http_request *request)
{
    for (size_t i = 0; i < http_request_header_count(request, "accept"); i++) {
        struct text rest = http_request_header_at(request, "accept", i), range;
        while (text_next(&rest, ',', &range)) {
            struct text type;
            if (text_next(&range, ';', &type) && text_equal_nocase(text_trim(type), TEXT("text/event-stream")))
                return true;
        }
    }
    return false;
}

/* A native EventSource gives up for good on any status but 200, and comes back after "retry" when the stream ends. */
static void events_respond(struct http_request *request, const struct http_problem *problem)
{
    struct buf body;
    buf_init(&body, 4096);
    enum err err = buf_format(&body, "retry: %u\nevent: unavailable\ndata: ", 5000 + entropy_below(25001));
    if (err == OK)
        err = problem_write(&body, problem, request->id);
    if (err == OK)
        err = buf_append(&body, "\n\n", 2);
    if (err == OK)
        http_respond(request, &(struct http_response){
                                  .status = 200, .type = "text/event-stream", .body = buf_view(&body), .close = true});
    else
        http_respond_problem(request, problem);
    buf_finish(&body);
}

void overflow_respond(struct http_request *request)
{
    const struct http_refusal_row *row = http_refusal_row(REFUSE_FULL);
    struct http_problem problem = {.status = row->status,
                                   .code = row->code,
                                   .title = row->title,
                                   .detail = row->detail,
                                   .retry_after_seconds = OVERFLOW_RETRY_AFTER_S,
                                   .close = true};
    request->label = "overflow";
    if (wants_events(request))
        events_respond(request, &problem);
    else
        http_respond_problem(request, &problem);
}

#include "gateway/pages.h"

#include "common/http/request.h"
#include "common/http/response.h"
#include "common/line/keyspace.h"
#include "gateway/gateway.h"
#include "gateway/refusal.h"

#include <stdio.h>

#define PAGE_HEADERS                                                                                                 \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " \
    "data:; "                                                                                                        \
    "form-action *; base-uri 'none'; frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n"

static void page(struct http_request *request, const struct gateway *gateway, const char *type, enum asset asset)
{
    http_respond(request, &(struct http_response){.status = 200,
                                                  .type = type,
                                                  .headers = PAGE_HEADERS,
                                                  .cache = "public, max-age=60",
                                                  .body = asset_text(&gateway->assets, asset)});
}

void room_handle(struct http_request *request, void *context)
{
    if (!session_id_valid(http_request_segment(request, "session"))) {
        refuse(context, request, REFUSAL_BAD_SESSION, NULL, 0);
        return;
    }
    page(request, context, "text/html; charset=utf-8", ASSET_ROOM_HTML);
}

void waitroom_handle(struct http_request *request, void *context)
{
    page(request, context, "text/javascript; charset=utf-8", ASSET_WAITROOM_JS);
}

void style_handle(struct http_request *request, void *context)
{
    page(request, context, "text/css; charset=utf-8", ASSET_ROOM_CSS);
}

void problem_handle(struct http_request *request, void *context)
{
    char body[512];
    const char *title = NULL, *detail = refusal_page(http_request_segment(request, "code"), &title);
    (void)context;
    if (!detail) {
        http_respond_problem(request, &(struct http_problem){.status = 404,
                                                             .code = "not-found",
                                                             .title = "Not found",
                                                             .detail = "There is no problem type of this name."});
        return;
    }
    int len = snprintf(body, sizeof body, "%s\n\n%s\n", title, detail);
    http_respond(request, &(struct http_response){.status = 200,
                                                  .type = "text/plain; charset=utf-8",
                                                  .cache = "public, max-age=300",
                                                  .body = {body, (size_t)len}});
}

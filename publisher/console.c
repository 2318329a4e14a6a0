#include "publisher/console.h"

#include "common/http/response.h"

/* From publisher/web/, put in by the Makefile. */
extern const char web_console_html[], web_console_js[], web_console_css[];

/* Whoever could put a script or a frame into this page would have the operator's token. */
#define PAGE_HEADERS                                                                                                  \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "  \
    "data:; "                                                                                                         \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types " \
    "'none'\r\n"                                                                                                      \
    "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"                                     \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

static void page(struct http_request *request, const char *type, const char *body)
{
    http_respond(request, &(struct http_response){.status = 200,
                                                  .type = type,
                                                  .headers = PAGE_HEADERS,
                                                  .cache = "no-cache", /* page and API are of one version */
                                                  .body = text_of(body)});
}

void console_page(struct http_request *request, void *context)
{
    (void)context;
    page(request, "text/html; charset=utf-8", web_console_html);
}

void console_script(struct http_request *request, void *context)
{
    (void)context;
    page(request, "text/javascript; charset=utf-8", web_console_js);
}

void console_style(struct http_request *request, void *context)
{
    (void)context;
    page(request, "text/css; charset=utf-8", web_console_css);
}

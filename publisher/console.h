/** The operator's console: one page, its script and its style, built in. They hold nothing secret and need no token;
 * what they show comes from the admin API. */
#ifndef ANTEROOM_PUBLISHER_CONSOLE_H
#define ANTEROOM_PUBLISHER_CONSOLE_H

struct http_request;

void console_page(struct http_request *request, void *context);
void console_script(struct http_request *request, void *context);
void console_style(struct http_request *request, void *context);

#endif

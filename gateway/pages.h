/** What people see: the waiting page, its script, and a page for each problem type. */
#ifndef ANTEROOM_GATEWAY_PAGES_H
#define ANTEROOM_GATEWAY_PAGES_H

struct http_request;
void room_handle(struct http_request *request, void *context);
void waitroom_handle(struct http_request *request, void *context);
void style_handle(struct http_request *request, void *context);
void problem_handle(struct http_request *request, void *context);

#endif

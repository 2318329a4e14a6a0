/** The line without a stream: POST join, GET status, POST leave. */
#ifndef ANTEROOM_GATEWAY_POLLING_H
#define ANTEROOM_GATEWAY_POLLING_H

struct http_request;
void join_handle(struct http_request *request, void *context);
void status_handle(struct http_request *request, void *context);
void leave_handle(struct http_request *request, void *context);

#endif

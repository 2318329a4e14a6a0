/** GET /api/queue/stream: join, or resume with a ticket, and listen. */
#ifndef ANTEROOM_GATEWAY_SUBSCRIBE_H
#define ANTEROOM_GATEWAY_SUBSCRIBE_H

struct http_request;
void subscribe_handle(struct http_request *request, void *context);

#endif

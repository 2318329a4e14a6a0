/** GET /api/queue/info: what anybody may know of a session. One answer serves all who ask within INFO_MS. */
#ifndef ANTEROOM_GATEWAY_INFO_H
#define ANTEROOM_GATEWAY_INFO_H

struct http_request;

#define INFO_MS 1000

void info_handle(struct http_request *request, void *context);

#endif

/** /healthz, /readyz, /metrics. */
#ifndef ANTEROOM_GATEWAY_HEALTH_H
#define ANTEROOM_GATEWAY_HEALTH_H

struct http_request;
void healthz_handle(struct http_request *request, void *context);
/** 503 while draining, at the connection cap, or when this gateway alone has lost Redis; an outage that everyone sees
 * stays 200. */
void readyz_handle(struct http_request *request, void *context);
void metrics_handle(struct http_request *request, void *context);

#endif

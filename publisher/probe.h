/** The metrics listener: /metrics, /healthz, /readyz. */
#ifndef ANTEROOM_PUBLISHER_PROBE_H
#define ANTEROOM_PUBLISHER_PROBE_H

#include <stdbool.h>

struct http_request;
struct publisher;

/** Listens on METRICS_LISTEN. False: said why on stderr. */
bool probe_serve(struct publisher *publisher);
void probe_health(struct http_request *request, void *context);

#endif

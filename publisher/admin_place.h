/** One place: where it stands, and its eviction. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_PLACE_H
#define ANTEROOM_PUBLISHER_ADMIN_PLACE_H

struct http_request;
void place_show(struct http_request *request, void *context);
void place_evict(struct http_request *request, void *context);

#endif

/** PUT /admin/load: the site's load, for sites that cannot write to Redis themselves. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_LOAD_H
#define ANTEROOM_PUBLISHER_ADMIN_LOAD_H

struct http_request;

void load_put(struct http_request *request, void *context);

#endif

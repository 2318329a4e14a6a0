/** The gateways as the publisher sees them. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_SERVER_H
#define ANTEROOM_PUBLISHER_ADMIN_SERVER_H

struct http_request;
void servers_list(struct http_request *request, void *context);
/** Declares a gateway dead that has stopped beating but is not given up yet. {server}: "<id>.<boot>", or an id. */
void server_remove(struct http_request *request, void *context);

#endif

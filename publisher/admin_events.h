/** The request for a console's event stream. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_EVENTS_H
#define ANTEROOM_PUBLISHER_ADMIN_EVENTS_H

struct http_request;
void events_open(struct http_request *request, void *context);

#endif

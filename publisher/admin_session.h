/** Reading sessions: the list and one. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_SESSION_H
#define ANTEROOM_PUBLISHER_ADMIN_SESSION_H

struct http_request;
/** ?limit=100&after=ID, by id: {"items":[…],"next":ID or null}. */
void sessions_list(struct http_request *request, void *context);
void session_show(struct http_request *request, void *context);

#endif

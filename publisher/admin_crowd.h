/** POST …/crowd {"count":1000,"perSecond":200}: a rehearsal. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_CROWD_H
#define ANTEROOM_PUBLISHER_ADMIN_CROWD_H

struct http_request;
void crowd_post(struct http_request *request, void *context);

#endif

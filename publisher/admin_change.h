/** Changing sessions: PUT, PATCH, DELETE, and the verbs of POST. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_CHANGE_H
#define ANTEROOM_PUBLISHER_ADMIN_CHANGE_H

struct http_request;

/** Bytes of a notice. */
void change_put(struct http_request *request, void *context);
void change_patch(struct http_request *request, void *context);
void change_delete(struct http_request *request, void *context);
void change_pause(struct http_request *request, void *context);
void change_resume(struct http_request *request, void *context);
void change_close(struct http_request *request, void *context);
void change_clear(struct http_request *request, void *context);
/** The operator's word to everybody who waits. */
void change_announce(struct http_request *request, void *context);

#endif

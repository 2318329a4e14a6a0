/** What the protected site does with an entry token: it is used (redeem), and its holder is done (release). Origin
 * rules are for browsers and do not apply; an answer is always a status, never an event. */
#ifndef ANTEROOM_GATEWAY_SITE_H
#define ANTEROOM_GATEWAY_SITE_H

struct http_request;
void redeem_handle(struct http_request *request, void *context);
void release_handle(struct http_request *request, void *context);
/** The public keys of entry tokens. */
void jwks_handle(struct http_request *request, void *context);

#endif

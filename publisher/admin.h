/** The admin API: its listener, its routes and who may use them; see docs/http-api.md, "Publisher". */
#ifndef ANTEROOM_PUBLISHER_ADMIN_H
#define ANTEROOM_PUBLISHER_ADMIN_H

#include "publisher/actor.h"

#include <stdbool.h>

struct http_request;
struct http_server;
struct publisher;

/** Listens on ADMIN_LISTEN. False: said why on stderr. */
bool admin_serve(struct publisher *publisher);
/** Who asks, when that is allowed for the route; else NULL, and the request is answered (perhaps later). Every handler
 * but that of /healthz begins with it. */
const struct actor *admin_enter(struct publisher *publisher, struct http_request *request);
/** Binds and says so ("event=listening"). False: said why on stderr. */
bool admin_listen(struct http_server *server, const char *name, const char *address);

#endif

#include "publisher/admin.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/request.h"
#include "publisher/admin_answer.h"
#include "publisher/admin_change.h"
#include "publisher/admin_crowd.h"
#include "publisher/admin_events.h"
#include "publisher/admin_load.h"
#include "publisher/admin_place.h"
#include "publisher/admin_server.h"
#include "publisher/admin_session.h"
#include "publisher/console.h"
#include "publisher/probe.h"
#include "publisher/publisher.h"

#include <errno.h>

#define CONNECTIONS_MAX 256
/* A console that stops reading is noticed by what waits for it, so little waits in the kernel. */
#define SEND_BUFFER_BYTES 65536
#define STALL_MS 10000

enum { ROUTE_CHANGE = 1 }; /* not for read-only tokens */

static const struct route routes[] = {
    {"GET", "/healthz", "healthz", 0, probe_health},
    {"GET", "/", "console", 0, console_page},
    {"GET", "/console.js", "console", 0, console_script},
    {"GET", "/console.css", "console", 0, console_style},
    {"GET", "/admin/events", "events", 0, events_open},
    {"GET", "/admin/sessions", "sessions", 0, sessions_list},
    {"GET", "/admin/sessions/{session}", "session", 0, session_show},
    {"PUT", "/admin/sessions/{session}", "session", ROUTE_CHANGE, change_put},
    {"PATCH", "/admin/sessions/{session}", "session", ROUTE_CHANGE, change_patch},
    {"DELETE", "/admin/sessions/{session}", "session", ROUTE_CHANGE, change_delete},
    {"POST", "/admin/sessions/{session}/pause", "pause", ROUTE_CHANGE, change_pause},
    {"POST", "/admin/sessions/{session}/resume", "resume", ROUTE_CHANGE, change_resume},
    {"POST", "/admin/sessions/{session}/close", "close", ROUTE_CHANGE, change_close},
    {"POST", "/admin/sessions/{session}/clear", "clear", ROUTE_CHANGE, change_clear},
    {"POST", "/admin/sessions/{session}/announce", "announce", ROUTE_CHANGE, change_announce},
    {"POST", "/admin/sessions/{session}/crowd", "crowd", ROUTE_CHANGE, crowd_post},
    {"GET", "/admin/sessions/{session}/places/{place}", "place", 0, place_show},
    {"DELETE", "/admin/sessions/{session}/places/{place}", "place", ROUTE_CHANGE, place_evict},
    {"PUT", "/admin/load", "load", ROUTE_CHANGE, load_put},
    {"GET", "/admin/servers", "servers", 0, servers_list},
    {"DELETE", "/admin/servers/{server}", "server", ROUTE_CHANGE, server_remove},
};

/* What may stand behind '?'. A misspelt parameter that was ignored would do something else than was asked. */
static const struct {
    const char *method, *route, *params;
} params[] = {
    {"GET", "sessions", "limit after"},
    {"GET", "events", "sessions"},
    {"DELETE", "session", "force"},
};

static bool params_known(struct http_request *request)
{
    const struct route *route = http_request_route(request);
    const char *names = "";
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
        if (strcmp(route->method, params[i].method) == 0 && strcmp(route->name, params[i].route) == 0)
            names = params[i].params;
    if (http_request_params_only(request, names))
        return true;
    admin_problem(request, 400, "bad-request", "Not a parameter",
                  names[0] ? "The query holds something else than limit, after, sessions or force where they belong."
                           : "This takes no query parameters.");
    return false;
}

static void refuse(struct http_request *request)
{
    http_respond_problem(request, &(struct http_problem){
                                      .status = 401,
                                      .code = "unauthorized",
                                      .title = "No valid admin token",
                                      .detail = "Send \"Authorization: Bearer\" with a token of the admin token file.",
                                      .headers = "WWW-Authenticate: Bearer realm=\"anteroom\"\r\n",
                                  });
}

const struct actor *admin_enter(struct publisher *publisher, struct http_request *request)
{
    struct text header = http_request_header(request, "authorization");
    const struct sockaddr *peer = http_request_peer(request);
    bool one = http_request_header_count(request, "authorization") == 1;
    const struct actor *actor = one ? actors_find(publisher->secrets.actors, bearer_token(header)) : NULL;
    if (!actor) {
        log_event(LOG_WARN, "admin-refused", LOG_S("request", http_request_id(request)), LOG_S("code", "unauthorized"));
        if (header.at && guard_failed(&publisher->guard, peer, clock_mono_ms()))
            guard_answer_later(&publisher->guard, request, refuse);
        else
            refuse(request);
        return NULL;
    }
    guard_passed(&publisher->guard, peer);
    if (!actor->read_only || !(http_request_route(request)->flags & ROUTE_CHANGE))
        return params_known(request) ? actor : NULL;
    log_event(LOG_WARN, "admin-refused", LOG_S("actor", actor->name), LOG_S("request", http_request_id(request)),
              LOG_S("code", "forbidden"));
    admin_problem(request, 403, "forbidden", "This token may only read",
                  "Changes need a token without \"read\" in the admin token file.");
    return NULL;
}

/* ---- the listener ---- */

static void request_done(void *context, const struct http_done *done)
{
    const struct publisher *publisher = context;
    const char *wanted = publisher->options.common.access_log;
    if (strcmp(wanted, "all") == 0 || (strcmp(wanted, "errors") == 0 && done->status >= 400))
        log_event(LOG_INFO, "request", LOG_S("route", done->route), LOG_T("method", http_request_method(done->request)),
                  LOG_I("code", done->status), LOG_F("duration_ms", (double)done->duration_ns / 1e6),
                  LOG_S("request", http_request_id(done->request)));
}

bool admin_listen(struct http_server *server, const char *name, const char *address)
{
    char bound[80];
    enum err err = http_server_listen(server, address, bound, sizeof bound);
    if (err != OK) {
        fprintf(stderr, "anteroom-publisher: cannot listen on %s (%s): %s\n", address, name,
                err == ERR_IO ? strerror(errno) : "not an address of the form IP:PORT");
        return false;
    }
    log_event(LOG_INFO, "listening", LOG_S("name", name), LOG_S("address", bound));
    return true;
}

static void warn_if_public(const char *address)
{
    struct text text = text_of(address);
    if (!text_starts(text, "127.") && !text_starts(text, "[::1]"))
        log_event(LOG_WARN, "admin-not-loopback", LOG_S("address", address),
                  LOG_S("detail", "the admin API is plain HTTP: tokens can be read on the way"));
}

bool admin_serve(struct publisher *publisher)
{
    struct http_settings settings = http_settings_default();
    settings.loop = publisher->loop;
    settings.name = "admin";
    settings.routes = routes;
    settings.route_count = sizeof routes / sizeof routes[0];
    settings.context = publisher;
    settings.connections_max = CONNECTIONS_MAX;
    settings.send_buffer_bytes = SEND_BUFFER_BYTES;
    settings.stall_timeout_ms = STALL_MS;
    settings.on_done = request_done;
    if (http_server_create(&publisher->admin_server, &settings) != OK)
        return false;
    warn_if_public(publisher->options.admin_listen);
    return admin_listen(publisher->admin_server, "admin", publisher->options.admin_listen);
}

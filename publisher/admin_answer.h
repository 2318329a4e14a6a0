/** How the admin API answers, and the part every handler shares that has to ask Redis first. */
#ifndef ANTEROOM_PUBLISHER_ADMIN_ANSWER_H
#define ANTEROOM_PUBLISHER_ADMIN_ANSWER_H

#include "common/base/err.h"
#include "common/http/response.h"
#include "common/line/keyspace.h"
#include "publisher/actor.h"

#include <jansson.h>
#include <stdbool.h>

struct publisher;

/** The first member of a handler's own struct. It outlives its client: what was begun is finished and logged. */
struct admin_op {
    struct publisher *publisher;
    struct http_request *request; /* NULL once answered or gone */
    char actor[ACTOR_NAME_MAX + 1], session[SESSION_ID_MAX + 1];
};

/** Counted as under way until admin_op_end. */
void admin_op_begin(struct admin_op *op, struct publisher *publisher, struct http_request *request,
                    const struct actor *actor, struct text session);
/** Answered by then. */
void admin_op_end(struct admin_op *op);

/** Each of these consumes the request; NULL is ignored. BODY is taken over (NULL: 503). VERSION 0: no ETag. */
void admin_json(struct http_request *request, int status, json_t *body, int64_t version);
void admin_empty(struct http_request *request, int status);
void admin_problem(struct http_request *request, int status, const char *code, const char *title, const char *detail);
/** One more of ERRORS (an array). Without memory it lacks: whoever counts them looks at memory_refused, too. */
void admin_complain(json_t *errors, const char *field, const char *detail);
/** 400 bad-request with ERRORS (an array, borrowed). */
void admin_bad_fields(struct http_request *request, const json_t *errors);
/** 503: Redis did not do it, or there is no memory; whether it may have been carried out follows from ERR. */
void admin_unavailable(struct http_request *request, enum err err);
void admin_unknown_session(struct http_request *request);

/** The same for the request of an operation. */
struct http_request *admin_op_take(struct admin_op *op);

/** The path's {session}; false: answered with 400 bad-session. */
bool admin_session_id(struct http_request *request, struct text *session);

#endif

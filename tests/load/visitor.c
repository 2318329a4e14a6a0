#include "tests/load/visitor.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/line/token.h"
#include "tests/load/crowd.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITE_SIZE 8192
#define ACT_WITHIN_MS 3000

static void visitor_connect(struct visitor *visitor);
static void on_event(void *data, const struct event *event);

void visitor_init(struct visitor *visitor, struct crowd *crowd, uint32_t number)
{
    *visitor = (struct visitor){.crowd = crowd, .number = number, .target = number, .retry_ms = 2000};
    visitor->leaves = (int64_t)entropy_below(100) < crowd->options.leave_percent;
    visitor->drops = (int64_t)entropy_below(100) < crowd->options.reconnect_percent;
    uv_timer_init(crowd->loop, &visitor->timer);
    visitor->timer.data = visitor;
    answer_init(&visitor->answer, on_event, visitor);
}

static void visitor_end(struct visitor *visitor, int state)
{
    bool ended = visitor->state >= VISITOR_ENTERED;
    visitor->state = state;
    uv_timer_stop(&visitor->timer);
    if (!ended)
        visitor->crowd->ended++;
}

/* ---- the connection ---- */

static void on_timer_connect(uv_timer_t *timer)
{
    visitor_connect(timer->data);
}

static void on_closed(uv_handle_t *handle)
{
    struct visitor *visitor = handle->data;
    visitor->open = visitor->closing = false;
    if (visitor->crowd->over || visitor->state >= VISITOR_ENTERED)
        return;
    if (visitor->leaving && !visitor->asked) { /* the stream has ended; now POST leave */
        visitor->asked = true;
        visitor_connect(visitor);
        return;
    }
    visitor->target++; /* the next gateway */
    uint64_t wait_ms = (uint64_t)visitor->retry_ms;
    if (!visitor->leaving) {
        visitor->crowd->summary.reconnects++;
        visitor->reconnected = true;
        if (visitor->dropped && !visitor->returned)
            wait_ms = 0;
        visitor->returned = visitor->dropped;
    }
    uv_timer_start(&visitor->timer, on_timer_connect, wait_ms, 0);
}

static void hang_up(struct visitor *visitor)
{
    if (visitor->open && !visitor->closing) {
        visitor->closing = true;
        uv_close((uv_handle_t *)&visitor->tcp, on_closed);
    }
}

/* ---- what the server says ---- */

/* The claims of a JWT, unverified: the client only compares. */
static json_t *claims_of(struct text token)
{
    struct text rest = token, part;
    uint8_t bytes[TOKEN_MAX];
    size_t len;
    if (!text_next(&rest, '.', &part) || !text_next(&rest, '.', &part) ||
        base64url_decode(bytes, sizeof bytes, part, &len) != OK)
        return NULL;
    return json_loadb((const char *)bytes, len, 0, NULL);
}

static void take_id(struct visitor *visitor, struct text id)
{
    json_t *claims = claims_of(id);
    uint64_t number = (uint64_t)json_integer_value(json_object_get(claims, "ticket"));
    json_decref(claims);
    if (!claims)
        return;
    free(visitor->ticket);
    visitor->ticket = malloc(id.len + 1);
    CHECK(visitor->ticket && text_copy(visitor->ticket, id.len + 1, id) == OK);
    if (number == 0) /* in the lobby */
        return;
    if (visitor->first_ticket && number != visitor->first_ticket)
        visitor->crowd->summary.places_lost++;
    visitor->first_ticket = visitor->ticket_number = number;
}

/* What this visitor was drawn to do: drop the connection once, or leave. */
static void on_timer_act(uv_timer_t *timer)
{
    struct visitor *visitor = timer->data;
    if (visitor->state != VISITOR_WAITING)
        return;
    if (visitor->drops && !visitor->dropped)
        visitor->dropped = true;
    else
        visitor->leaving = true;
    hang_up(visitor);
}

static void plan(struct visitor *visitor)
{
    if (visitor->leaves || (visitor->drops && !visitor->dropped))
        uv_timer_start(&visitor->timer, on_timer_act, 50 + entropy_below(ACT_WITHIN_MS), 0);
}

static void take_state(struct visitor *visitor, const json_t *data)
{
    struct summary *summary = &visitor->crowd->summary;
    int64_t position = json_integer_value(json_object_get(data, "position"));
    int64_t ahead = json_integer_value(json_object_get(data, "ahead")),
            behind = json_integer_value(json_object_get(data, "behind"));
    int64_t waiting = json_integer_value(json_object_get(data, "waiting"));
    summary->frames++;
    if (position < 1 || ahead != position - 1 || position + behind != waiting ||
        (visitor->position && position > visitor->position) ||
        (visitor->ticket_number && (uint64_t)position > visitor->ticket_number))
        summary->position_errors++;
    visitor->position = position;
    if (visitor->state == VISITOR_JOINING) {
        visitor->state = VISITOR_WAITING;
        plan(visitor);
    }
}

static void take_entry(struct visitor *visitor, const json_t *data)
{
    struct summary *summary = &visitor->crowd->summary;
    const char *token = json_string_value(json_object_get(data, "token"));
    json_t *claims = token ? claims_of(text_of(token)) : NULL;
    const char *place = json_string_value(json_object_get(claims, "jti"));
    int64_t ticket = json_integer_value(json_object_get(claims, "ticket"));
    if (!place || visitor->place[0])
        summary->duplicate_entries++;
    if (place)
        snprintf(visitor->place, sizeof visitor->place, "%s", place);
    if (visitor->ticket_number && (uint64_t)ticket != visitor->ticket_number)
        summary->order_violations++;
    visitor->ticket_number = (uint64_t)ticket;
    json_decref(claims);
    struct tm tm = {0};
    const char *at = json_string_value(json_object_get(data, "admittedAt"));
    const char *rest = at ? strptime(at, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    int64_t ms = 0;
    if (rest && *rest == '.' && text_int((struct text){rest + 1, 3}, 0, 999, &ms) != OK)
        ms = strtol(rest + 1, NULL, 10); /* leading zeros */
    visitor->admitted_ms = (int64_t)timegm(&tm) * 1000 + ms;
    if (ms > 0) /* a whole second: found by a lookup, which knows no better */
        latency_add(&summary->entry, (double)(clock_wall_ms() - visitor->admitted_ms));
    summary->admitted++;
    visitor_end(visitor, VISITOR_ENTERED);
}

/* Nobody who listens and does not leave expires, and who made one connection only is not superseded by another. */
static void take_end(struct visitor *visitor, const struct event *event, const json_t *data)
{
    struct summary *summary = &visitor->crowd->summary;
    const char *reason = json_string_value(json_object_get(data, "reason"));
    bool expired = text_is(event->name, "closed") && reason && strcmp(reason, "expired") == 0;
    bool superseded = text_is(event->name, "superseded");
    if ((expired && visitor->state == VISITOR_WAITING) || (superseded && !visitor->reconnected))
        summary->places_lost++;
    summary->closed++;
    visitor_end(visitor, VISITOR_CLOSED);
}

static void on_event(void *data, const struct event *event)
{
    struct visitor *visitor = data;
    struct summary *summary = &visitor->crowd->summary;
    if (event->id.at)
        take_id(visitor, event->id);
    if (event->retry_ms >= 0)
        visitor->retry_ms = event->retry_ms;
    if (visitor->state >= VISITOR_ENTERED || event->data.len == 0)
        return;
    if (!visitor->framed && visitor->state == VISITOR_JOINING && !text_is(event->name, "unavailable") &&
        !text_is(event->name, "refused")) {
        visitor->framed = true;
        summary->joined++;
        latency_add(&summary->join, (double)(clock_mono_ns() - visitor->joined_ns) / 1e6);
    }
    json_t *json = json_loadb(event->data.at, event->data.len, 0, NULL);
    if (text_is(event->name, "waiting-state")) {
        take_state(visitor, json);
    } else if (text_is(event->name, "entry")) {
        take_entry(visitor, json);
    } else if (text_is(event->name, "closed") || text_is(event->name, "superseded")) {
        take_end(visitor, event, json);
    } else if (text_is(event->name, "refused")) {
        summary_refused(summary, text_of(json_string_value(json_object_get(json, "code"))));
        visitor_end(visitor, VISITOR_REFUSED);
    } else if (text_is(event->name, "unavailable")) {
        summary_refused(summary, text_of(json_string_value(json_object_get(json, "code"))));
    }
    json_decref(json);
}

/* A problem's code is the gateway's word and final. Without one a load balancer speaks for itself, and a stream is
 * asked for again as a page would be reloaded. */
static void answer_refused(struct visitor *visitor)
{
    int status = visitor->answer.status;
    char kind[24];
    json_t *json = json_loadb(visitor->answer.body.data, visitor->answer.body.len, 0, NULL);
    const char *code = json_string_value(json_object_get(json, "code"));
    snprintf(kind, sizeof kind, "status-%d", status);
    summary_refused(&visitor->crowd->summary, text_of(code ? code : kind));
    if (code || visitor->crowd->options.is_virtual || status < 502 || status > 504)
        visitor_end(visitor, VISITOR_REFUSED);
    json_decref(json);
}

static void answer_whole(struct visitor *visitor)
{
    struct summary *summary = &visitor->crowd->summary;
    if (visitor->leaving) {
        if (visitor->answer.status == 204) {
            summary->left++;
            visitor_end(visitor, VISITOR_LEFT);
        }
    } else if (visitor->crowd->options.is_virtual && visitor->answer.status == 200) {
        summary->joined++;
        latency_add(&summary->join, (double)(clock_mono_ns() - visitor->joined_ns) / 1e6);
        visitor_end(visitor, VISITOR_LEFT);
    } else if (visitor->answer.status >= 400) {
        answer_refused(visitor);
    } else if (visitor->answer.status == 204) {
        visitor_end(visitor, VISITOR_CLOSED);
    }
    hang_up(visitor);
}

/* ---- bytes ---- */

static void give_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    static char room[65536];
    (void)handle;
    (void)size;
    *buf = uv_buf_init(room, sizeof room);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct visitor *visitor = stream->data;
    if (count > 0)
        answer_feed(&visitor->answer, buf->base, (size_t)count);
    if (visitor->answer.state == ANSWER_DONE)
        answer_whole(visitor);
    else if (count < 0 || visitor->answer.state == ANSWER_BROKEN)
        hang_up(visitor);
}

static int write_request(struct visitor *visitor, char *dst)
{
    struct crowd *crowd = visitor->crowd;
    const struct crowd_options *options = &crowd->options;
    const char *host = crowd->targets[visitor->target % crowd->target_count].host;
    char user[TOKEN_MAX + 32] = "", token[TOKEN_MAX], name[32];
    if (crowd->user_key) {
        snprintf(name, sizeof name, "crowd-%u", visitor->number);
        struct entry_claims claims = {text_of("crowd"),
                                      text_of("crowd"),
                                      text_of(name),
                                      text_of(name),
                                      0,
                                      clock_wall_ms() / 1000,
                                      clock_wall_ms() / 1000 + 86400};
        if (token_sign_entry(crowd->user_key, &claims, token, sizeof token) == OK)
            snprintf(user, sizeof user, "Authorization: Bearer %s\r\n", token);
    }
    const char *extra = options->header[0] ? options->header : "X-Client: anteroom-crowd";
    if (visitor->leaving)
        return snprintf(dst, WRITE_SIZE,
                        "POST /api/queue/leave?ticket=%s HTTP/1.1\r\nHost: %s\r\n%s%s\r\nContent-Length: 0\r\n\r\n",
                        visitor->ticket, host, user, extra);
    if (options->is_virtual)
        return snprintf(dst, WRITE_SIZE,
                        "POST /api/queue/join?sessionId=%s&userType=VIRTUAL HTTP/1.1\r\nHost: "
                        "%s\r\n%s%s\r\nContent-Length: 0\r\n\r\n",
                        options->session, host, user, extra);
    return snprintf(
        dst, WRITE_SIZE,
        "GET /api/queue/stream?sessionId=%s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%s%s%s%s%s\r\n\r\n",
        options->session, host, user, visitor->ticket ? "Last-Event-ID: " : "", visitor->ticket ? visitor->ticket : "",
        visitor->ticket ? "\r\n" : "", extra);
}

static void on_connect(uv_connect_t *connect, int status)
{
    struct visitor *visitor = connect->data;
    char request[WRITE_SIZE];
    int len = status == 0 ? write_request(visitor, request) : 0;
    uv_buf_t buf = uv_buf_init(request, (unsigned)len);
    visitor->joined_ns = clock_mono_ns();
    if (status != 0 || len >= WRITE_SIZE || uv_try_write((uv_stream_t *)&visitor->tcp, &buf, 1) != len ||
        uv_read_start((uv_stream_t *)&visitor->tcp, give_room, on_read) != 0) {
        visitor->crowd->summary.failed_connects += status != UV_ECANCELED;
        hang_up(visitor);
    }
}

static void visitor_connect(struct visitor *visitor)
{
    struct crowd *crowd = visitor->crowd;
    struct target *target = &crowd->targets[visitor->target % crowd->target_count];
    answer_finish(&visitor->answer);
    answer_init(&visitor->answer, on_event, visitor);
    uv_tcp_init_ex(crowd->loop, &visitor->tcp, AF_INET);
    visitor->tcp.data = visitor->connect.data = visitor;
    visitor->open = true;
    if (!visitor->leaving)
        visitor->state = VISITOR_JOINING;
    if (crowd->options.source_addresses > 0) {
        struct sockaddr_in source = {.sin_family = AF_INET};
        source.sin_addr.s_addr = htonl(0x7f000001u + 1 + visitor->number % (uint32_t)crowd->options.source_addresses);
        int fd, on = 1; /* the port is chosen at the connect, so that each destination has all of them */
        if (uv_fileno((uv_handle_t *)&visitor->tcp, &fd) == 0)
            setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        uv_tcp_bind(&visitor->tcp, (const struct sockaddr *)&source, 0);
    }
    if (uv_tcp_connect(&visitor->connect, &visitor->tcp, (const struct sockaddr *)&target->address, on_connect) != 0)
        hang_up(visitor);
}

void visitor_start(struct visitor *visitor)
{
    visitor_connect(visitor);
}

void visitor_stop(struct visitor *visitor)
{
    hang_up(visitor);
    uv_close((uv_handle_t *)&visitor->timer, NULL);
}

#include "common/redis/client.h"

#include "common/base/check.h"
#include "common/base/clock.h"

#include <hiredis/hiredis.h>

#define STACK_ARGUMENTS 64
#define WRITE_BYTES_MAX (256 * 1024) /* a write is full past this; the rest waits for the next */
#define WRITE_BYTES_KEPT (1024 * 1024)

static struct redis_request *of_node(struct list *node)
{
    return CONTAINER_OF(node, struct redis_request, node);
}

static bool format(struct redis_request *request, size_t argc, const struct text *argv)
{
    const char *stack_at[STACK_ARGUMENTS], **at = stack_at;
    size_t stack_len[STACK_ARGUMENTS], *len = stack_len;
    void *heap = NULL;
    if (argc > STACK_ARGUMENTS) {
        heap = malloc(argc * (sizeof *at + sizeof *len));
        if (!heap)
            return false;
        at = heap;
        len = (void *)(at + argc);
    }
    for (size_t i = 0; i < argc; i++) {
        at[i] = argv[i].len ? argv[i].at : "";
        len[i] = argv[i].len;
    }
    long long total = redisFormatCommandArgv(&request->bytes, (int)argc, at, len);
    free(heap);
    request->len = total > 0 ? (size_t)total : 0;
    return total > 0;
}

struct redis_request *redis_request_create(enum request_kind kind, size_t argc, const struct text *argv)
{
    CHECK(argc > 0);
    struct redis_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    list_init(&request->node);
    request->kind = kind;
    request->command = request->command_copy;
    size_t shown = argv[0].len < sizeof request->command_copy ? argv[0].len : sizeof request->command_copy - 1;
    if (shown)
        memcpy(request->command_copy, argv[0].at, shown);
    if (!format(request, argc, argv)) {
        free(request);
        return NULL;
    }
    return request;
}

void redis_request_destroy(struct redis_request *request)
{
    if (request->bytes)
        redisFreeCommand(request->bytes);
    free(request);
}

static bool is_full(const struct redis *redis, size_t len)
{
    size_t room = redis->settings.window - redis->wire_calls; /* for calls that will not have to wait */
    return redis->queue_calls >= room + redis->settings.queue_calls_max ||
           redis->queue_bytes + len > redis->settings.queue_bytes_max;
}

static void enlist(struct redis *redis, struct redis_request *request, struct list *list, enum request_place place)
{
    bool is_call = request->kind == REQUEST_CALL;
    CHECK(request->place == REQUEST_NOWHERE);
    list_append(list, &request->node);
    request->place = place;
    if (is_call && place == REQUEST_QUEUED) {
        redis->queue_calls++;
        redis->queue_bytes += request->len;
    } else if (is_call && place == REQUEST_ON_WIRE) {
        redis->wire_calls++;
    }
}

static void detach(struct redis *redis, struct redis_request *request)
{
    bool is_call = request->kind == REQUEST_CALL;
    if (is_call && request->place == REQUEST_QUEUED) {
        redis->queue_calls--;
        redis->queue_bytes -= request->len;
    } else if (is_call && request->place == REQUEST_ON_WIRE) {
        redis->wire_calls--;
    }
    list_remove(&request->node);
    request->place = REQUEST_NOWHERE;
}

enum err redis_request_queue(struct redis *redis, struct redis_request *request, uint32_t timeout_ms)
{
    if (request->kind == REQUEST_CALL) {
        if (is_full(redis, request->len))
            return ERR_BUSY;
        request->start_ns = clock_mono_ns();
        request->deadline.at_ms = request->start_ns / 1000000 + timeout_ms;
        if (redis_deadlines_add(&redis->deadlines, &request->deadline) != OK)
            return ERR_NOMEM;
        redis_session_arm(redis);
    }
    enlist(redis, request, &redis->queue, REQUEST_QUEUED);
    redis_session_wake(redis);
    return OK;
}

void redis_request_repeat(struct redis *redis, struct redis_request *request)
{
    CHECK(request->kind == REQUEST_CALL && request->bytes);
    detach(redis, request);
    enlist(redis, request, &redis->repeat, REQUEST_QUEUED);
    redis_session_wake(redis);
}

static void call_back(struct redis *redis, struct redis_request *request, enum err err, const struct redis_reply *reply)
{
    const struct redis_hooks *hooks = &redis->settings.hooks;
    if (hooks->on_done)
        hooks->on_done(hooks->data, request->command, err, clock_mono_ns() - request->start_ns);
    if (request->callback)
        request->callback(request->data, err, reply);
    redis_request_destroy(request);
}

void redis_request_finish(struct redis *redis, struct redis_request *request, enum err err,
                          const struct redis_reply *reply)
{
    detach(redis, request);
    redis_deadlines_remove(&redis->deadlines, &request->deadline);
    if (request->kind == REQUEST_CALL)
        call_back(redis, request, err, reply);
    else
        redis_request_destroy(request);
}

static void end(struct redis *redis, struct redis_request *request, enum err err)
{
    detach(redis, request);
    redis_deadlines_remove(&redis->deadlines, &request->deadline);
    request->err = err;
    if (request->kind == REQUEST_CALL)
        enlist(redis, request, &redis->ended, REQUEST_ENDED);
    else
        redis_request_destroy(request);
}

void redis_requests_end(struct redis *redis, enum err head, enum err wire, enum err queue)
{
    for (enum err err = head; !list_empty(&redis->wire); err = wire)
        end(redis, of_node(list_first(&redis->wire)), err);
    while (!list_empty(&redis->repeat))
        end(redis, of_node(list_first(&redis->repeat)), queue);
    while (!list_empty(&redis->queue))
        end(redis, of_node(list_first(&redis->queue)), queue);
}

void redis_requests_deliver(struct redis *redis)
{
    while (!list_empty(&redis->ended)) {
        struct redis_request *request = of_node(list_first(&redis->ended));
        detach(redis, request);
        call_back(redis, request, request->err, NULL);
    }
}

bool redis_requests_expire(struct redis *redis, uint64_t now_ms)
{
    bool was_on_wire = false;
    for (struct deadline *first; (first = redis_deadlines_first(&redis->deadlines)) && first->at_ms <= now_ms;) {
        struct redis_request *request = CONTAINER_OF(first, struct redis_request, deadline);
        bool on_wire = request->place == REQUEST_ON_WIRE;
        was_on_wire |= on_wire;
        end(redis, request, on_wire ? ERR_TIMEOUT : ERR_UNSENT);
    }
    return was_on_wire;
}

static struct redis_request *next_to_write(struct redis *redis)
{
    struct list *node = list_first(&redis->repeat);
    if (!node)
        node = list_first(&redis->queue);
    if (!node || (of_node(node)->kind == REQUEST_CALL && redis->wire_calls >= redis->settings.window))
        return NULL;
    return of_node(node);
}

/* As many commands as one write should carry. */
static enum err gather(struct redis *redis)
{
    redis->out.len = 0;
    for (struct redis_request *request; redis->out.len < WRITE_BYTES_MAX && (request = next_to_write(redis));) {
        if (redis_script_write(request, &redis->out) != OK)
            return redis->out.len ? OK : ERR_NOMEM; /* the one without room stays queued */
        detach(redis, request);
        enlist(redis, request, &redis->wire, REQUEST_ON_WIRE);
        if (!request->script) {
            redisFreeCommand(request->bytes);
            request->bytes = NULL;
        }
    }
    return OK;
}

const char *redis_requests_write(struct redis *redis)
{
    while (redis_link_writable(redis->link)) {
        if (gather(redis) != OK)
            return "out of memory";
        if (redis->out.len == 0)
            break;
        if (redis_link_send(redis->link, redis->out.data, redis->out.len) != OK)
            return "could not be written to";
    }
    if (redis->out.cap > WRITE_BYTES_KEPT)
        buf_finish(&redis->out);
    return NULL;
}

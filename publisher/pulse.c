#include "publisher/pulse.h"

#include "common/base/check.h"

#include <stdlib.h>

static struct pulse *of_node(const struct map_node *node)
{
    return CONTAINER_OF(node, struct pulse, node);
}

static struct text pulse_key(const struct map_node *node)
{
    return text_of(of_node(node)->name);
}

void pulses_init(struct pulses *pulses)
{
    *pulses = (struct pulses){.looked_ms = 0};
    map_init(&pulses->by_name, pulse_key);
}

static void pulse_forget(struct pulses *pulses, struct pulse *pulse)
{
    map_remove(&pulses->by_name, &pulse->node);
    free(pulse);
}

void pulses_finish(struct pulses *pulses)
{
    MAP_EACH(&pulses->by_name, node, next, cursor)
    pulse_forget(pulses, of_node(node));
    map_finish(&pulses->by_name);
}

struct pulse *pulse_find(const struct pulses *pulses, struct text name)
{
    struct map_node *node = map_find(&pulses->by_name, name);
    return node ? of_node(node) : NULL;
}

/* NULL: no server's name, too many, or no memory; such a one is not judged. */
static struct pulse *pulse_get(struct pulses *pulses, struct text name, bool *fresh)
{
    struct pulse *pulse = pulse_find(pulses, name);
    *fresh = !pulse;
    if (pulse || !server_id_valid(server_name_id(name)) || name.len >= SERVER_NAME_SIZE ||
        pulses->by_name.len >= PULSES_MAX)
        return pulse;
    pulse = calloc(1, sizeof *pulse);
    if (!pulse)
        return NULL;
    CHECK(text_copy(pulse->name, sizeof pulse->name, name) == OK);
    if (map_insert(&pulses->by_name, &pulse->node) == OK)
        return pulse;
    free(pulse);
    return NULL;
}

void pulses_begin(struct pulses *pulses, uint64_t now_ms)
{
    uint64_t passed = pulses->looking ? now_ms - pulses->looked_ms : 0;
    pulses->step_ms = passed < PULSE_STEP_MS ? (uint32_t)passed : PULSE_STEP_MS;
    pulses->looked_ms = now_ms;
    pulses->looking = true;
    MAP_EACH(&pulses->by_name, node, next, cursor)
    of_node(node)->present = of_node(node)->served = false;
}

void pulses_seen(struct pulses *pulses, struct text name, int64_t beat_ms)
{
    bool fresh;
    struct pulse *pulse = pulse_get(pulses, name, &fresh);
    if (!pulse)
        return;
    pulse->present = true;
    pulse->absent_ms = 0;
    if (fresh || pulse->beat_ms != beat_ms) {
        pulse->still_ms = 0;
        pulse->condemned = false;
    } else {
        pulse->still_ms += pulses->step_ms;
    }
    pulse->beat_ms = beat_ms;
}

void pulses_served(struct pulses *pulses, struct text name)
{
    bool fresh;
    struct pulse *pulse = pulse_get(pulses, name, &fresh);
    if (!pulse)
        return;
    if (!pulse->present && !pulse->served && !fresh)
        pulse->absent_ms += pulses->step_ms;
    pulse->served = true;
}

size_t pulses_end(struct pulses *pulses)
{
    size_t alive = 0;
    MAP_EACH(&pulses->by_name, node, next, cursor)
    {
        struct pulse *pulse = of_node(node);
        if (pulse->present && pulse->still_ms < PULSE_STILL_MS)
            alive++;
        else if (!pulse->present && !pulse->served && !pulse->busy)
            pulse_forget(pulses, pulse);
    }
    return alive;
}

bool pulse_replaced(const struct pulses *pulses, const struct pulse *pulse)
{
    struct text id = server_name_id(text_of(pulse->name));
    MAP_EACH(&pulses->by_name, node, next, cursor)
    {
        const struct pulse *other = of_node(node);
        if (other != pulse && other->present && other->still_ms < PULSE_STILL_MS &&
            text_equal(server_name_id(text_of(other->name)), id))
            return true;
    }
    return false;
}

const char *pulse_dead(const struct pulses *pulses, const struct pulse *pulse)
{
    if (pulse->condemned)
        return "condemned";
    if (pulse->present)
        return pulse->still_ms >= (pulse->served ? PULSE_STILL_MS : PULSE_UNSERVED_MS) ? "silent" : NULL;
    if (!pulse->served)
        return NULL;
    if (pulse->absent_ms >= PULSE_ABSENT_MS)
        return "absent";
    return pulse_replaced(pulses, pulse) ? "replaced" : NULL;
}

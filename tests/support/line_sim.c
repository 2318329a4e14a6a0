#include "tests/support/line_sim.h"

#include "common/base/check.h"

#include <math.h>
#include <stdlib.h>

#define PEOPLE_MAX 400000
#define SAMPLES_MAX 20000
#define TICK_S 0.5 /* the publisher's, and the grain of everything here */
#define SAMPLE_EVERY_S 7
#define SHORT_S 30 /* waits shorter than this say nothing about relative width */

struct person {
    double leaves_s; /* INFINITY: never */
    bool gone;
};

struct sample {
    uint64_t ticket;
    double asked_s;
    struct eta eta;
};

struct sim {
    const struct sim_settings *settings;
    struct person *people; /* by ticket, from 1 */
    uint64_t random, head, tail, waiting;
    struct sample *samples;
    unsigned asked, answered;
    double *ratios;
    unsigned long_waits;
    double now_s, next_batch_s, pause_end_s, load, inside, wander;
    struct pace_meter meter;
    struct sim_result *result;
};

/* xorshift64*: the same run on every machine. */
static double chance(struct sim *sim)
{
    sim->random ^= sim->random >> 12;
    sim->random ^= sim->random << 25;
    sim->random ^= sim->random >> 27;
    return (double)((sim->random * 2685821657736338717u) >> 11) / (double)((uint64_t)1 << 53);
}

static double exponential(struct sim *sim, double mean)
{
    return -mean * log(1 - chance(sim));
}

static unsigned poisson(struct sim *sim, double mean)
{
    unsigned count = 0;
    for (double left = exponential(sim, 1); left < mean; left += exponential(sim, 1))
        count++;
    return count;
}

static void join(struct sim *sim, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CHECK(sim->tail + 1 < PEOPLE_MAX);
        bool leaver = chance(sim) < 0.2;
        double leaves_s = leaver ? sim->now_s + exponential(sim, sim->settings->patience_s) : (double)INFINITY;
        sim->people[++sim->tail] = (struct person){leaves_s, false};
        sim->waiting++;
    }
}

static void arrive(struct sim *sim)
{
    bool crowd = sim->now_s == 0 || fmod(sim->now_s, 600) < TICK_S / 2;
    if (sim->settings->burst)
        join(sim, (crowd ? 1200 : 0) + poisson(sim, 0.5 * TICK_S));
    else
        join(sim, (sim->now_s == 0 ? 400 : 0) + poisson(sim, 2.5 * TICK_S));
}

/* How many may go in now. */
static uint64_t allowed(struct sim *sim)
{
    enum sim_policy policy = sim->settings->policy;
    bool due = sim->now_s >= sim->next_batch_s;
    if (policy == SIM_STEADY || policy == SIM_ADAPTIVE)
        sim->next_batch_s += due ? 5 : 0;
    if (policy == SIM_STEADY)
        return due ? 10 : 0;
    if (policy == SIM_ADAPTIVE) {
        sim->wander += (chance(sim) - 0.5) * 2 * TICK_S - sim->wander * TICK_S / 300;
        sim->load += (sim->inside * 0.2 + 20 + sim->wander - sim->load) * TICK_S / 10; /* seen late */
        double share = (sim->load - 20) / 40;
        return due ? (uint64_t)(24 - 22 * (share < 0 ? 0 : share > 1 ? 1 : share)) : 0;
    }
    if (sim->now_s < sim->pause_end_s || !due)
        return 0;
    if (chance(sim) < 0.03)
        sim->pause_end_s = sim->now_s + 5 + 55 * chance(sim);
    sim->next_batch_s = sim->now_s + exponential(sim, 6);
    return 1 + (uint64_t)(40 * chance(sim) * chance(sim));
}

static uint64_t admit(struct sim *sim)
{
    uint64_t left = allowed(sim), count = 0;
    while (left > 0 && sim->waiting > 0) {
        struct person *person = &sim->people[++sim->head];
        if (person->gone)
            continue;
        person->gone = true;
        sim->waiting--;
        left--;
        count++;
    }
    sim->inside += (double)count - sim->inside * TICK_S / 60; /* a minute each */
    return count;
}

static size_t leave(struct sim *sim, uint64_t *departed)
{
    size_t count = 0;
    for (uint64_t ticket = sim->head + 1; ticket <= sim->tail; ticket++) {
        struct person *person = &sim->people[ticket];
        if (person->gone || person->leaves_s > sim->now_s)
            continue;
        person->gone = true;
        sim->waiting--;
        departed[count++] = ticket;
    }
    return count;
}

static void ask(struct sim *sim)
{
    struct pace pace = pace_value(&sim->meter);
    struct eta eta;
    uint64_t position = 1 + (uint64_t)(chance(sim) * (double)sim->waiting), ticket = sim->head;
    if (sim->waiting == 0 || sim->asked == SAMPLES_MAX || !eta_of(&pace, position, &eta))
        return;
    for (uint64_t left = position; left > 0;)
        left -= !sim->people[++ticket].gone;
    sim->samples[sim->asked++] = (struct sample){ticket, sim->now_s, eta};
}

static void answer(struct sim *sim)
{
    for (unsigned i = 0; i < sim->asked; i++) {
        struct sample *sample = &sim->samples[i];
        if (sample->ticket == 0 || sample->ticket > sim->head)
            continue;
        double wait = sim->now_s - sample->asked_s, low = (double)sample->eta.low, high = (double)sample->eta.high;
        sim->result->inside += wait >= low && wait <= high;
        if (wait >= SHORT_S) {
            sim->result->width += (high - low) / wait;
            sim->result->error += fabs((double)sample->eta.seconds - wait) / wait;
            sim->ratios[sim->long_waits++] = high / (low > 1 ? low : 1);
        }
        sample->ticket = 0;
        sim->answered++;
    }
}

static void tick(struct sim *sim, bool asking)
{
    static uint64_t departed[PEOPLE_MAX];
    struct admission admission = {.status = "open", .phase = "open", .departed = departed};
    arrive(sim);
    admission.departed_count = leave(sim, departed);
    admission.admitted_now = admit(sim);
    admission.head = sim->head;
    admission.tail = sim->tail;
    admission.waiting = sim->waiting;
    pace_observe(&sim->meter, (uint64_t)(sim->now_s * 1000), &admission);
    answer(sim);
    if (asking && fmod(sim->now_s, SAMPLE_EVERY_S) < TICK_S / 2)
        ask(sim);
    sim->now_s += TICK_S;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void sim_run(const struct sim_settings *settings, struct sim_result *result)
{
    struct sim sim = {
        .settings = settings, .random = settings->seed * 2654435761u + 88172645463325252u, .result = result};
    sim.people = calloc(PEOPLE_MAX, sizeof *sim.people);
    sim.samples = calloc(SAMPLES_MAX, sizeof *sim.samples);
    sim.ratios = calloc(SAMPLES_MAX, sizeof *sim.ratios);
    CHECK(sim.people && sim.samples && sim.ratios);
    *result = (struct sim_result){0};
    pace_init(&sim.meter);
    while (sim.now_s < settings->duration_s)
        tick(&sim, true);
    while (sim.answered < sim.asked)
        tick(&sim, false);
    result->samples = sim.asked;
    if (sim.long_waits > 0) {
        qsort(sim.ratios, sim.long_waits, sizeof *sim.ratios, compare);
        result->ratio = sim.ratios[sim.long_waits / 2];
        result->width /= sim.long_waits;
        result->error /= sim.long_waits;
    }
    free(sim.people);
    free(sim.samples);
    free(sim.ratios);
}

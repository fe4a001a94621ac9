/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owners, each a process with a core on an engine of the model, and what
 * they do in each kind of run.
 */
#include "simulator/random/deadlock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/deadlock_detection.h"
#include "core/memory.h"
#include "core/multi_lock.h"
#include "core/time_math.h"
#include "simulator/model/sim.h"

#define OWNERS_MAX 8
#define LOCKS 10
#define PERMITS_MAX 3
#define CIRCLE_MAX 6
#define RUN_MS 60000
#define END_MS 60000

enum run_kind { CIRCLE, ORDERED, PERMITS, LOST, BY_TURNS };

/* A mutex, a read/write lock or a semaphore. */
struct run_lock {
    char name[8];
    char entry[16];
    char leases[16];
    bool read_write;
    uint32_t limit; /* of a semaphore; else 0 */
};

/* An acquire of an owner, from its begin until the core has forgotten it. */
struct want {
    struct hf_acquisition a;
    struct hf_multi_lock multi_lock;
    struct hf_acquisition children[2]; /* of a semaphore */
    struct owner *owner;
    size_t lock;
    bool granted;
    bool released;
    char payload[HF_PAYLOAD_BYTES];
    struct want *next; /* of the same owner */
};

struct owner {
    struct hf_engine *engine;
    struct hf_core core;
    uint64_t tick_us;
    bool draining;
    bool detects;
    bool finished; /* of a circle: it has released everything */
    struct want *wants;
    struct want *waiting; /* NULL: it does not wait */
};

static struct {
    struct hf_sim *sim;
    struct hf_random random;
    enum run_kind kind;
    struct owner owners[OWNERS_MAX];
    size_t count;
    size_t circle; /* the first owners and locks are in a circle */
    struct run_lock locks[LOCKS];
    bool faults;
    bool stopping;
    struct deadlock_result *end;
    void (*line)(void *arg, const char *text);
} run;

static void continue_after(struct owner *owner, struct want *want,
                           hf_status status);

/* -------------------------------------------------------------- helpers -- */

static uint64_t below(uint64_t bound)
{
    return hf_random_below(&run.random, bound);
}

static void later_us(uint64_t us, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(run.sim, hf_sim_now_us(run.sim) + us, true, fn, arg);
}

static void later(uint64_t ms, void (*fn)(void *arg), void *arg)
{
    later_us(1000 * ms, fn, arg);
}

static size_t number_of(const struct owner *owner)
{
    return (size_t)(owner - run.owners);
}

static void trace(const struct owner *owner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void trace(const struct owner *owner, const char *format, ...)
{
    uint64_t now_us = hf_sim_now_us(run.sim);
    char text[1024];
    va_list arguments;
    int used;

    if (run.line == NULL)
        return;
    used = snprintf(text, sizeof text, "%6" PRIu64 ".%03u  %zu  ",
                    now_us / 1000, (unsigned)(now_us % 1000), number_of(owner));
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    run.line(NULL, text);
}

static void check(bool holds, int invariant, const char *message)
{
    if (holds || run.end->broken != 0)
        return;
    run.end->broken = invariant;
    run.end->message = message;
}

/* ------------------------------------------------- the core of an owner -- */

static void drain(struct owner *owner);

static void step(struct owner *owner, struct hf_event event)
{
    event.now_ms = hf_sim_client_now_ms(owner->engine);
    hf_core_step(&owner->core, &event);
    hf_core_check(&owner->core);
    drain(owner);
}

static void on_event(void *host, struct hf_event *event)
{
    step(host, *event);
}

static uint64_t now_ms(void *host)
{
    return hf_sim_client_now_ms(((struct owner *)host)->engine);
}

/* The ticket by which ${want} holds its lock. */
static const struct hf_ticket_id *ticket_of(const struct want *want)
{
    return run.locks[want->lock].limit > 0 ? &want->children[1].ticket_id
                                           : &want->a.ticket_id;
}

/* Does ${owner} hold ${want}? */
static bool is_held(const struct want *want)
{
    return want->granted && !want->released;
}

static bool holds_lock(const struct owner *owner, size_t lock)
{
    for (const struct want *w = owner->wants; w != NULL; w = w->next) {
        if (is_held(w) && w->lock == lock)
            return true;
    }
    return false;
}

/* As the host writes it: what it wants, and what its owner holds. */
static void write_payload(struct want *want, uint32_t permits)
{
    const struct owner *owner = want->owner;
    char holds[HF_PAYLOAD_BYTES] = "";
    size_t used = 0;

    for (const struct want *w = owner->wants; w != NULL; w = w->next) {
        char id[HF_TICKET_ID_TEXT_BYTES];

        if (!is_held(w))
            continue;
        hf_ticket_id_format(ticket_of(w), id);
        used += (size_t)snprintf(holds + used, sizeof holds - used, "%s%s:%.8s",
                                 used == 0 ? " holds=" : ",",
                                 run.locks[w->lock].name, id);
    }
    used = (size_t)snprintf(want->payload, sizeof want->payload,
                            "host=h pid=%zu command=c%s", number_of(owner) + 1,
                            used > 0 && owner->detects ? " detect" : "");
    if (permits > 0)
        used += (size_t)snprintf(
            want->payload + used, sizeof want->payload - used,
            " limit=%u permits=%u", run.locks[want->lock].limit, permits);
    (void)snprintf(want->payload + used, sizeof want->payload - used, "%s",
                   holds);
}

/* Make ${want} of a semaphore: an entry mutex and a lease. */
static void use_semaphore(struct want *want, uint32_t permits)
{
    const struct run_lock *lock = &run.locks[want->lock];

    want->children[0].queue = lock->entry;
    want->children[0].kind = HF_TICKET_MUTEX;
    want->children[0].entry_mutex = true;
    want->children[1].queue = lock->leases;
    want->children[1].kind = HF_TICKET_LEASE;
    want->children[1].weight = permits;
    want->children[1].limit = lock->limit;
    for (size_t i = 0; i < 2; i++) {
        want->children[i].payload = want->payload;
        want->children[i].deadline_at_ms = want->a.deadline_at_ms;
    }
    want->multi_lock.children = want->children;
    want->multi_lock.count = 2;
    want->multi_lock.token_child = 1;
    hf_acquisition_use_multi_lock(&want->a, &want->multi_lock);
}

/* ${owner} begins to wait for ${lock}, at most ${wait_ms}. */
static void acquire(struct owner *owner, size_t lock, enum hf_ticket_kind kind,
                    uint32_t permits, uint64_t wait_ms)
{
    struct want *want = calloc(1, sizeof *want);

    if (want == NULL)
        abort();
    want->owner = owner;
    want->lock = lock;
    want->a.queue = run.locks[lock].name;
    want->a.kind = kind;
    want->a.payload = want->payload;
    want->a.deadline_at_ms =
        wait_ms == HF_FOREVER ? HF_FOREVER : now_ms(owner) + wait_ms;
    if (owner->detects)
        want->a.detection = hf_alloc(sizeof *want->a.detection);
    if (run.locks[lock].limit > 0)
        use_semaphore(want, permits);
    write_payload(want, run.locks[lock].limit > 0 ? permits : 0);
    want->next = owner->wants;
    owner->wants = owner->waiting = want;
    trace(owner, "wants %s: %s", run.locks[lock].name, want->payload);
    step(owner, (struct hf_event){.kind = HF_EVENT_ACQUIRE,
                                  .as.acquisition = &want->a});
}

/* The core has forgotten ${want}. */
static void forget(struct want *want)
{
    struct want **link = &want->owner->wants;

    while (*link != want)
        link = &(*link)->next;
    *link = want->next;
    hf_acquisition_free(&want->owner->core, &want->a);
    for (size_t i = 0; i < want->multi_lock.count; i++)
        hf_acquisition_free(&want->owner->core, &want->children[i]);
    free(want);
}

static void release(struct want *want)
{
    want->released = true;
    trace(want->owner, "releases %s", run.locks[want->lock].name);
    step(want->owner, (struct hf_event){.kind = HF_EVENT_RELEASE,
                                        .as.acquisition = &want->a});
}

/* A release may free others, so look for the next one each time. */
static void release_all(struct owner *owner)
{
    struct want *want;

    do {
        for (want = owner->wants; want != NULL && !is_held(want);
             want = want->next)
            ;
        if (want != NULL)
            release(want);
    } while (want != NULL);
}

/* The wait of ${want} has ended. */
static void end_wait(struct want *want, hf_status status)
{
    struct owner *owner = want->owner;

    owner->waiting = NULL;
    want->granted = status == HF_OK;
    run.end->grants += status == HF_OK;
    trace(owner, "%s %s: %s", status == HF_OK ? "is GRANTED" : "ends with",
          status == HF_OK ? run.locks[want->lock].name : hf_status_name(status),
          status == HF_OK ? "" : hf_acquisition_text(&want->a));
    continue_after(owner, want, status);
}

static struct want *want_of(struct hf_acquisition *a)
{
    return (struct want *)(void *)a; /* its first field */
}

static void carry_out(struct owner *owner, const struct hf_effect *effect)
{
    const struct hf_engine_ops *ops = hf_sim_ops(run.sim);

    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        ops->request(owner->engine, effect->request);
        break;
    case HF_EFFECT_UNWATCH:
        ops->unwatch(owner->engine, effect->request);
        break;
    case HF_EFFECT_CONNECT:
        ops->connect(owner->engine);
        break;
    case HF_EFFECT_GRANTED:
        end_wait(want_of(effect->acquisition), HF_OK);
        break;
    case HF_EFFECT_ENDED:
        end_wait(want_of(effect->acquisition), effect->acquisition->status);
        break;
    case HF_EFFECT_LOST:
        trace(owner, "LOST %s",
              run.locks[want_of(effect->acquisition)->lock].name);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        forget(want_of(effect->acquisition));
        break;
    default:
        break;
    }
}

static void tick(void *arg)
{
    struct owner *owner = arg;

    if (hf_sim_frozen(owner->engine) || hf_sim_now_us(run.sim) < owner->tick_us)
        return;
    owner->tick_us = UINT64_MAX;
    step(owner, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void arm(struct owner *owner)
{
    uint64_t wake_ms = hf_core_wake_at_ms(&owner->core);
    uint64_t at_us;

    if (wake_ms == HF_FOREVER || hf_sim_frozen(owner->engine))
        return;
    at_us = hf_sim_client_at_us(owner->engine, wake_ms);
    if (at_us == UINT64_MAX || at_us == owner->tick_us)
        return;
    owner->tick_us = at_us;
    hf_sim_call_at(run.sim, at_us, true, tick, owner);
}

/* An event inside an effect leads here again; the outermost call carries out
 * all effects. */
static void drain(struct owner *owner)
{
    struct hf_effect *effect;

    if (owner->draining)
        return;
    owner->draining = true;
    while ((effect = hf_core_next_effect(&owner->core)) != NULL) {
        struct hf_effect taken = *effect;

        carry_out(owner, &taken);
    }
    owner->draining = false;
    arm(owner);
}

/* --------------------------------------------------------------- ordered -- */

/* A kind of ticket for ${lock}. */
static enum hf_ticket_kind random_kind(size_t lock)
{
    if (!run.locks[lock].read_write)
        return HF_TICKET_MUTEX;
    return below(2) == 0 ? HF_TICKET_READ : HF_TICKET_WRITE;
}

/* Take a lock behind all that ${owner} holds; owners of a circle have the first
 * ones to themselves. */
static void go_on_in_order(void *arg)
{
    struct owner *owner = arg;
    uint64_t wait_ms = below(3) == 0 ? HF_FOREVER : 500 + below(6000);
    size_t lock = LOCKS;

    if (owner->waiting != NULL)
        return;
    if (hf_sim_frozen(owner->engine)) {
        later(10, go_on_in_order, owner);
        return;
    }
    while (lock > run.circle && !holds_lock(owner, lock - 1))
        lock--;
    lock += below(3);
    if (lock >= LOCKS || run.stopping) {
        release_all(owner);
        if (!run.stopping)
            later(10 + below(500), go_on_in_order, owner);
        return;
    }
    acquire(owner, lock, random_kind(lock),
            1 + (uint32_t)below(run.locks[lock].limit + 1) %
                    (run.locks[lock].limit + (run.locks[lock].limit == 0)),
            wait_ms);
}

static void release_and_begin(void *arg)
{
    struct owner *owner = arg;

    if (owner->waiting != NULL)
        return;
    if (hf_sim_frozen(owner->engine)) {
        later(10, release_and_begin, owner);
        return;
    }
    release_all(owner);
    go_on_in_order(owner);
}

static void continue_in_order(struct owner *owner, hf_status status)
{
    check(status != HF_EDEADLK, 1,
          "a deadlock was reported, and there is none");
    if (status == HF_OK && below(10) < 7)
        later(below(300), go_on_in_order, owner);
    else
        later(below(1500), release_and_begin, owner);
}

/* ---------------------------------------------------------------- circle -- */

/* The lock that the owner number ${i} of the circle waits for. */
static size_t wanted_by(size_t i)
{
    return (i + 1) % run.circle;
}

/* All owners of the circle hold their lock: each waits for the next one. */
static void close_circle(void *arg)
{
    struct owner *owner = arg;
    size_t lock = wanted_by(number_of(owner));

    acquire(owner, lock,
            run.locks[lock].read_write ? HF_TICKET_WRITE : HF_TICKET_MUTEX, 1,
            HF_FOREVER);
}

static void leave_circle(void *arg)
{
    struct owner *owner = arg;

    release_all(owner);
    owner->finished = true;
}

/* The first grant is that of its own lock; the second one, or the failure, is
 * the end. */
static void continue_in_circle(struct owner *owner, const struct want *want,
                               hf_status status)
{
    if (status == HF_EDEADLK) {
        run.end->found++;
        check(owner->detects, 2, "an owner that does not look failed");
        check(run.end->found == 1, 2, "a deadlock had two victims");
    } else {
        check(status == HF_OK, 2, "a wait of the circle failed otherwise");
    }
    if (want->lock == number_of(owner))
        later(500 + below(3000), close_circle, owner);
    else
        later(below(200), leave_circle, owner);
}

/* Hold the lock, all permits of it or none but in the way of a writer. */
static void join_circle(struct owner *owner)
{
    size_t lock = number_of(owner);

    acquire(owner, lock,
            run.locks[lock].read_write && below(2) == 0 ? HF_TICKET_READ
            : run.locks[lock].read_write                ? HF_TICKET_WRITE
                                                        : HF_TICKET_MUTEX,
            run.locks[lock].limit, HF_FOREVER);
}

/* ------------------------------------------------------ permits, by turns --
 */

/* Somebody deletes a ticket that ${owner} holds. */
static void evict_some(struct owner *owner)
{
    for (struct want *w = owner->wants; w != NULL; w = w->next) {
        if (!is_held(w) || run.locks[w->lock].limit > 0)
            continue;
        trace(owner, "is evicted from %s", run.locks[w->lock].name);
        (void)hf_sim_evict(run.sim, run.locks[w->lock].name, ticket_of(w));
        return;
    }
}

/* In a run of permits, owner 0 holds a permit of "0" and waits for "1", which
 * owner 1 holds, who waits for a permit; owner 2 has the other one for a
 * while. */
static void begin_second_wait(void *arg)
{
    struct owner *owner = arg;

    acquire(owner, number_of(owner) == 0 ? 1 : 0, HF_TICKET_MUTEX, 1,
            HF_FOREVER);
}

/* In a run of a lost lock "0" and "1" are mutexes, owner 0 loses "0" while it
 * waits, and owner 2 is next in line for that. */
static void begin_third(void *arg)
{
    acquire(arg, 0, HF_TICKET_MUTEX, 1, HF_FOREVER);
}

static void evict_first(void *arg)
{
    evict_some(arg);
}

static void continue_with_permits(struct owner *owner, const struct want *want,
                                  hf_status status)
{
    size_t number = number_of(owner);

    check(status == HF_OK, 1, "a deadlock was reported, and there is none");
    if (number == 2)
        later(3000 + below(5000), leave_circle, owner);
    else if (want->lock == number)
        later(100 + below(500), begin_second_wait, owner);
    else
        later(below(200), leave_circle, owner);
}

/* By turns: owner 0 holds "0" and waits for "1"; owner 1 holds "1" and waits
 * for "2" from time to time; owner 2 holds "2" and waits for "0" when owner 1
 * does not wait. */
static void wait_shortly(void *arg);

static void cancel_wait(void *arg)
{
    struct owner *owner = arg;

    if (owner->waiting != NULL)
        step(owner, (struct hf_event){.kind = HF_EVENT_CANCEL,
                                      .as.acquisition = &owner->waiting->a});
}

static void wait_shortly(void *arg)
{
    struct owner *owner = arg;

    if (run.stopping)
        return;
    acquire(owner, number_of(owner) == 1 ? 2 : 0, HF_TICKET_MUTEX, 1,
            HF_FOREVER);
    later_us(1000 + below(15000), cancel_wait, owner);
}

static void wait_for_long(void *arg)
{
    acquire(arg, 1, HF_TICKET_MUTEX, 1, HF_FOREVER);
}

static void continue_by_turns(struct owner *owner, const struct want *want,
                              hf_status status)
{
    size_t number = number_of(owner);

    check(status != HF_EDEADLK, 1,
          "a deadlock was reported, and there is none");
    if (status != HF_OK)
        later_us(1, wait_shortly, &run.owners[number == 1 ? 2 : 1]);
    else if (want->lock == number && number == 0)
        later(200, wait_for_long, owner);
    else if (want->lock == number && number == 1)
        later(400, wait_shortly, owner);
}

/* --------------------------------------------------------------- the run -- */

static void continue_after(struct owner *owner, struct want *want,
                           hf_status status)
{
    if (number_of(owner) >= run.circle)
        continue_in_order(owner, status);
    else if (run.kind == CIRCLE)
        continue_in_circle(owner, want, status);
    else if (run.kind == PERMITS || run.kind == LOST)
        continue_with_permits(owner, want, status);
    else
        continue_by_turns(owner, want, status);
}

static void thaw(void *arg)
{
    struct owner *owner = arg;

    hf_sim_set_frozen(owner->engine, false);
    owner->tick_us = UINT64_MAX;
    step(owner, (struct hf_event){.kind = HF_EVENT_TICK});
}

/* One fault of a random owner, and the next one later. */
static void fault(void *arg)
{
    struct owner *owner = &run.owners[below(run.count)];

    (void)arg;
    if (run.stopping)
        return;
    later(below(1000), fault, NULL);
    if (hf_sim_frozen(owner->engine))
        return;
    switch (below(4)) {
    case 0:
        hf_sim_reset_connection(owner->engine);
        break;
    case 1:
        hf_sim_kill_session(owner->engine);
        break;
    case 2:
        evict_some(owner);
        break;
    default:
        hf_sim_set_frozen(owner->engine, true);
        later(below(1500), thaw, owner);
    }
}

static struct hf_sim_config config_of(uint64_t seed, enum engine_kind engine)
{
    struct hf_sim_config config =
        engine == ENGINE_ZOOKEEPER ? hf_sim_config_zookeeper(seed)
        : engine == ENGINE_LEASED  ? hf_sim_config_leased(seed)
                                   : hf_sim_config_plain(seed);

    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + below(3000));
    if (run.faults && engine == ENGINE_PLAIN)
        config.timeout_ms = config.least_timeout_ms = 1000 + below(3000);
    return config;
}

/* How many owners there are, and how many of them are in a circle. */
static void choose_owners(uint64_t seed)
{
    static const enum run_kind kinds[] = {ORDERED, ORDERED,  ORDERED, PERMITS,
                                          LOST,    BY_TURNS, ORDERED, BY_TURNS};

    run.kind = seed % 2 == 1 ? CIRCLE : kinds[seed / 2 % 8];
    run.faults = run.kind == ORDERED && seed / 2 % 2 == 0;
    run.circle = run.kind == CIRCLE    ? 2 + (size_t)below(CIRCLE_MAX - 1)
                 : run.kind == ORDERED ? 0
                                       : 3;
    run.count = run.circle + (run.kind == ORDERED ? 3 : 0) +
                (size_t)below(OWNERS_MAX - CIRCLE_MAX + 1);
    if (run.kind == BY_TURNS)
        run.count = run.circle;
}

static void choose_locks(void)
{
    for (size_t i = 0; i < LOCKS; i++) {
        struct run_lock *lock = &run.locks[i];
        uint64_t kind =
            run.kind == CIRCLE || run.kind == ORDERED ? below(4) : 3;

        (void)snprintf(lock->name, sizeof lock->name, "n%zu", i);
        (void)snprintf(lock->entry, sizeof lock->entry, "n%zu/locks", i);
        (void)snprintf(lock->leases, sizeof lock->leases, "n%zu/leases", i);
        lock->read_write = kind == 1;
        lock->limit = kind == 0 ? 1 + (uint32_t)below(PERMITS_MAX) : 0;
        if (run.kind == PERMITS && i == 0)
            lock->limit = 2;
    }
}

/* ${owner} starts, and does what it is to do in this run. */
static void start(struct owner *owner, uint64_t seed)
{
    struct hf_core_config config = {.connect_ms = HF_FOREVER,
                                    .retry = {.base_ms = 10,
                                              .cap_ms = 200,
                                              .tries = HF_RETRY_UNLIMITED,
                                              .elapsed_ms = HF_FOREVER}};
    struct hf_engine_host host = {
        .event = on_event, .now_ms = now_ms, .host = owner};

    hf_random_seed(&config.random, seed);
    owner->tick_us = UINT64_MAX;
    owner->engine = hf_sim_engine_new(run.sim, &host);
    owner->detects = run.kind == CIRCLE     ? below(3) > 0
                     : run.kind == BY_TURNS ? number_of(owner) == 0
                                            : true;
    hf_core_init(&owner->core, &config, now_ms(owner));
    if (number_of(owner) >= run.circle)
        later(below(1000), go_on_in_order, owner);
    else if (run.kind == LOST && number_of(owner) == 2)
        later(50, begin_third, owner);
    else if (run.kind == PERMITS || run.kind == LOST)
        acquire(owner, number_of(owner) % 2, HF_TICKET_MUTEX, 1, HF_FOREVER);
    else
        join_circle(owner);
}

static void begin(uint64_t seed, enum engine_kind engine)
{
    struct hf_sim_config config;

    hf_random_seed(&run.random, seed);
    choose_owners(seed);
    choose_locks();
    config = config_of(seed, engine);
    run.sim = hf_sim_new(&config);
    for (size_t i = 0; i < run.count; i++)
        start(&run.owners[i], seed * OWNERS_MAX + i);
    /* One at least looks; it joined the circle without having to say so. */
    if (run.kind == CIRCLE)
        run.owners[below(run.circle)].detects = true;
    if (run.kind == LOST)
        later(800, evict_first, &run.owners[0]);
    if (run.faults)
        later(1000, fault, NULL);
}

/* The end: a deadlock was found and every owner of the circle got through. */
static void check_end(void)
{
    if (run.kind == CIRCLE)
        check(run.end->found == 1, 2, "a deadlock was not found");
    for (size_t i = 0; i < run.circle && run.kind != BY_TURNS; i++)
        check(run.owners[i].finished, 2, "an owner was not granted in the end");
}

bool deadlock_run_seed(uint64_t seed, enum engine_kind engine,
                       void (*line)(void *arg, const char *text),
                       struct deadlock_result *end)
{
    *end = (struct deadlock_result){0};
    memset(&run, 0, sizeof run);
    run.end = end;
    run.line = line;
    begin(seed, engine);
    hf_sim_run_ms(run.sim, RUN_MS);
    run.stopping = true;
    if (run.kind != ORDERED && run.kind != BY_TURNS)
        hf_sim_run_ms(run.sim, END_MS);
    if (end->broken == 0)
        check_end();
    hf_sim_free(run.sim);
    for (size_t i = 0; i < run.count; i++) {
        while (run.owners[i].wants != NULL)
            forget(run.owners[i].wants);
    }
    return end->broken == 0;
}

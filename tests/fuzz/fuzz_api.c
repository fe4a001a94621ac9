/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public interface as a random program.  The input says which calls are
 * made, by which thread, inside which callback and on which handle; when time
 * passes, links break, sessions end and memory runs out; and how threads are
 * scheduled.  The library is the real one with its threads; the engine is the
 * simulator, in virtual time.
 *
 * Four bytes of header: the kind of servers, a seed, how often threads switch,
 * and what to do at the end.  Then steps of four bytes: a call and three
 * operands.
 *
 * Properties: each operation ends once, with a documented status, and a failure
 * has a text; each callback is dropped once; claims that contradict each other
 * are never valid at the same time, and tokens rise; calls return in time.  At
 * the end, with memory and links restored and everything released, each waiter
 * is granted, every client closes, and no ticket, thread or memory is left.
 */
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "heap/heap.h"

#define STEPS_MAX 160
#define HEADER_BYTES 4

struct api api;

static _Thread_local bool may_wait_for_ever; /* this thread may wait for ever */

/* ------------------------------------------------------- names and waits -- */

const char *api_name(unsigned n)
{
    static const char *const names[API_NAMES] = {
        "a", "b", "jobs/nightly", "caf\xc3\xa9/x", "a/locks", "b/leases"};

    return names[n % API_NAMES];
}

const char *api_bad_name(unsigned n)
{
    static const char *const names[] = {"",
                                        "a/",
                                        "a//b",
                                        "/",
                                        "lock-0000000007",
                                        "x//locks",
                                        "x/leases/",
                                        "zookeeper/a",
                                        "a\nb",
                                        "\xff",
                                        "a/../b",
                                        ".",
                                        "//a",
                                        "\xef\xbf\xb0"};

    return names[n % (sizeof(names) / sizeof(names[0]))];
}

uint64_t api_wait_ms(uint8_t byte, bool blocks)
{
    static const uint64_t waits[] = {0,    1,     30,         700,
                                     5000, 25000, HF_FOREVER, HF_FOREVER - 1};
    uint64_t wait_ms = waits[byte % 8];

    if (blocks && !may_wait_for_ever && wait_ms > 25000)
        return 3000;
    return wait_ms;
}

/* ------------------------------------------------------------------ time -- */

/* The loop and the dispatching, which only the first thread does. */
static void drive(void)
{
    (void)uv_run(&api.loop, UV_RUN_NOWAIT);
    for (unsigned i = 0; i < API_CLIENTS; i++) {
        struct api_client *c = &api.clients[i];
        struct hf_client *client = c->client != NULL ? c->client : c->closing;

        if (c->way != API_DISPATCH || client == NULL || c->closed)
            continue;
        c->busy++;
        api_expect("hf_client_dispatch", hf_client_dispatch(client),
                   BIT(HF_OK));
        c->busy--;
        if (c->closed)
            c->closing = NULL;
    }
}

static void run_others(void)
{
    for (int i = 0; i < 3; i++) {
        scheduler_run_others();
        drive();
    }
    api_check();
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void pass_time(uint64_t ms)
{
    uint64_t until_us = hf_sim_now_us(api.sim) + ms * 1000;

    hf_sim_call_at(api.sim, until_us, true, do_nothing, NULL);
    run_others();
    while (hf_sim_now_us(api.sim) < until_us)
        if (scheduler_step(until_us))
            run_others();
    run_others();
}

static void pass_some_time(const struct api_step *s)
{
    static const uint64_t ms[] = {1, 2, 5, 20, 100, 700, 4000, 12000};

    if (pthread_equal(pthread_self(), api.main))
        pass_time(ms[s->a % 8]);
}

/* --------------------------------------------------------- interruptions -- */

static void interrupt(const struct api_step *s)
{
    struct sim_client *sim_client;

    if (!api.leased || sim_clients_count() == 0)
        return;
    sim_client = sim_clients_at(s->a % sim_clients_count());
    if (sim_client->engine == NULL || sim_client->inside > 0)
        return;
    switch (s->b % 5) {
    case 0:
        hf_sim_reset_connection(sim_client->engine);
        break;
    case 1:
        hf_sim_kill_session(sim_client->engine);
        /* Its tickets are removed before their time, so exclusion cannot be
         * checked. */
        for (unsigned i = 0; i < API_NAMES; i++)
            api.unchecked[i] = true;
        break;
    case 2:
        hf_sim_set_link(sim_client->engine, s->c % 2 != 0, s->c / 2 % 2 != 0);
        break;
    case 3:
        hf_sim_set_link(sim_client->engine, true, true);
        break;
    case 4:
        hf_sim_restart_servers(api.sim);
        break;
    }
}

static void exhaust_memory(const struct api_step *s)
{
    api.fails = true;
    heap_fail(1 + s->a % 16, false);
}

/* --------------------------------------------------------------- workers -- */

static void *work(void *arg)
{
    struct api_worker *w = arg;

    may_wait_for_ever = true;
    while (!w->quits) {
        if (w->busy) {
            api_step(&w->step, false);
            w->busy = false;
            api_check();
        } else {
            scheduler_sleep_on(w);
        }
    }
    return NULL;
}

/* The next step is made by a worker. */
static bool hand_over(const struct api_step *s, const struct api_step *next)
{
    struct api_worker *w = &api.workers[s->a % API_WORKERS];

    if (w->busy)
        return false;
    w->step = *next;
    w->busy = true;
    scheduler_wake(w);
    return true;
}

/* ----------------------------------------------------------------- steps -- */

/* The call of each step; a call that should be more frequent has two rows. */
static const struct {
    const char *name;
    void (*make)(const struct api_step *s);
} steps[] = {
    {"hand over", NULL},
    {"pass some", pass_some_time},
    {"client open", api_client_open},
    {"client close", NULL},
    {"client look", api_client_look},
    {"lock open", api_lock_open},
    {"lock open", api_lock_open},
    {"lock free", api_lock_free},
    {"lock set limit", api_lock_set_limit},
    {"acquire", api_acquire},
    {"acquire", api_acquire},
    {"acquire start", api_acquire_start},
    {"acquire start", api_acquire_start},
    {"acquire start", api_acquire_start},
    {"acquire all", api_acquire_all},
    {"cancel", api_cancel},
    {"op free", api_op_free},
    {"release", api_release},
    {"release start", api_release_start},
    {"release start", api_release_start},
    {"downgrade", api_downgrade},
    {"grant look", api_grant_look},
    {"list", api_list},
    {"evict", api_evict},
    {"request release", api_request_release},
    {"election open", api_election_open},
    {"election run", api_election_run},
    {"election resign", api_election_resign},
    {"election look", api_election_look},
    {"election free", api_election_free},
    {"barrier open", api_barrier_open},
    {"barrier call", api_barrier_call},
    {"barrier free", api_barrier_free},
    {"double open", api_double_open},
    {"double move", api_double_move},
    {"double free", api_double_free},
    {"owned open", api_mutex_open},
    {"owned lock", api_mutex_lock},
    {"owned look", api_mutex_look},
    {"owned unlock", api_mutex_unlock},
    {"owned free", api_mutex_free},
    {"misuse", api_misuse},
    {"trouble", interrupt},
    {"run out", exhaust_memory},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))
enum { STEP_HAND_OVER = 0, STEP_PASS = 1, STEP_CLIENT_CLOSE = 3 };

/* For a developer who has to explain a finding. */
static void trace(const struct api_step *s, bool inside)
{
    if (getenv("HF_FUZZ_TRACE") != NULL)
        fprintf(stderr, "%10llu %s%s%s %u %u %u\n",
                (unsigned long long)scheduler_now_ms(),
                may_wait_for_ever ? "  " : "", inside ? "> " : "",
                steps[s->op % STEPS].name, s->a, s->b, s->c);
}

void api_step(const struct api_step *s, bool inside)
{
    size_t op = s->op % STEPS;

    if (inside && (s->op == 0 || op == STEP_PASS || api.ends))
        return;
    trace(s, inside);
    if (op == STEP_CLIENT_CLOSE)
        api_client_close(s, inside);
    else if (steps[op].make != NULL)
        steps[op].make(s);
}

static void run_program(const uint8_t *data, size_t bytes)
{
    size_t count = bytes / sizeof(struct api_step);
    struct api_step s, next;

    for (size_t i = 0; i < count && i < STEPS_MAX; i++) {
        memcpy(&s, data + i * sizeof(s), sizeof(s));
        if (s.op % STEPS != STEP_HAND_OVER) {
            api_step(&s, false);
        } else if (i + 1 < count) {
            memcpy(&next, data + (i + 1) * sizeof(next), sizeof(next));
            i += hand_over(&s, &next);
        } else {
            run_others();
        }
        if (s.c % 4 == 0)
            run_others();
        api_check();
    }
}

/* ------------------------------------------------------------------- end -- */

static void end_faults(void)
{
    heap_fail(0, false);
    hf_sim_end_faults(api.sim);
    for (unsigned i = 0; i < sim_clients_count(); i++)
        if (sim_clients_at(i)->engine != NULL)
            hf_sim_set_link(sim_clients_at(i)->engine, true, true);
}

/* On a thread of its own, because it may have to wait. */
static void *unlock_all(void *arg)
{
    (void)arg;
    may_wait_for_ever = true;
    for (unsigned i = 0; i < API_FEW; i++)
        if (api.mutexes[i].client != NULL)
            api_mutex_unlock_all(&api.mutexes[i]);
    return NULL;
}

static void release_all(void)
{
    for (unsigned i = 0; i < API_GRANTS; i++)
        if (api.grants[i].grant != NULL && api.grants[i].busy == 0)
            api_release_one(&api.grants[i]);
}

static bool somebody_waits(void)
{
    for (unsigned i = 0; i < API_OPERATIONS; i++) {
        const struct api_operation *operation = &api.operations[i];

        if (operation->acquires &&
            !(operation->begun ? operation->ended : operation->returned))
            return true;
    }
    return false;
}

/* Everything is released, so every waiter is granted. */
static void end_waits(void)
{
    pthread_t thread;

    api.ends = true;
    for (unsigned i = 0; i < 100; i++) {
        for (uint8_t n = 0; n < API_FEW; n++)
            api_election_free(&(struct api_step){.a = n});
        release_all();
        thread = scheduler_start_thread(unlock_all, NULL);
        pass_time(5000);
        scheduler_join_thread(thread);
        if (!somebody_waits())
            return;
    }
    MUST(!somebody_waits());
}

static void *close_one(void *arg)
{
    struct api_client *c = arg;
    struct hf_client *client = c->client;

    may_wait_for_ever = true;
    c->client = NULL;
    MUST(hf_client_close(client) == HF_OK);
    MUST(c->drops == 1);
    c->closed = true;
    return NULL;
}

static bool all_closed(void)
{
    for (unsigned i = 0; i < API_CLIENTS; i++)
        if (api.clients[i].client != NULL || api.clients[i].closing != NULL)
            if (!api.clients[i].closed)
                return false;
    return true;
}

static void close_all(uint8_t how)
{
    pthread_t threads[API_CLIENTS];
    unsigned count = 0;

    for (uint8_t i = 0; i < API_CLIENTS; i++) {
        struct api_client *c = &api.clients[i];

        if (c->client == NULL)
            continue;
        MUST(c->busy == 0);
        if (c->way != API_UV && (how >> i & 1) != 0)
            threads[count++] = scheduler_start_thread(close_one, c);
        else
            api_client_close(&(struct api_step){.a = i, .b = 0}, true);
    }
    for (unsigned i = 0; i < 100 && !all_closed(); i++)
        pass_time(1000);
    MUST(all_closed());
    while (count > 0)
        scheduler_join_thread(threads[--count]);
}

static void end_workers(void)
{
    for (unsigned i = 0; i < API_WORKERS; i++) {
        struct api_worker *w = &api.workers[i];

        for (unsigned n = 0; n < 100 && w->busy; n++)
            pass_time(1000);
        MUST(!w->busy);
        w->quits = true;
        scheduler_wake(w);
        scheduler_join_thread(w->thread);
    }
}

static void free_all(void)
{
    const struct api_step first = {0, 0, 0, 0};

    release_all();
    for (unsigned i = 0; i < API_LOCKS; i++)
        api_lock_free(&first);
    for (unsigned i = 0; i < API_OPERATIONS; i++)
        api_op_free(&first);
    for (unsigned i = 0; i < API_FEW; i++) {
        api_election_free(&first);
        api_barrier_free(&first);
        api_double_free(&first);
        api_mutex_free(&first);
    }
    run_others();
}

/* Tickets that could not be removed end with their session. */
static bool queues_are_empty(void)
{
    static const char *const suffixes[] = {"", "/locks", "/leases"};
    char queue[64];

    for (unsigned i = 0; i < 3 * API_NAMES; i++) {
        (void)snprintf(queue, sizeof(queue), "%s%s", api_name(i / 3),
                       suffixes[i % 3]);
        if (hf_sim_queue(api.sim, queue).count > 0)
            return false;
    }
    return true;
}

static void check_end(void)
{
    for (unsigned i = 0; i < API_OPERATIONS; i++) {
        const struct api_operation *operation = &api.operations[i];

        MUST(!operation->used ||
             (operation->ended && operation->drops == operation->wanted_drops));
    }
    for (unsigned i = 0; i < API_FEW; i++)
        MUST(!api.elections[i].used || api.elections[i].drops == 4);
    MUST(api_mutex_all_dropped() && api_listeners_all_dropped());
    for (unsigned i = 0; i < API_CLIENTS; i++)
        MUST(api.clients[i].got_closed == api.clients[i].closed);
    MUST(queues_are_empty());
    MUST(scheduler_count_threads() == 1);
}

/* ------------------------------------------------------------- simulator -- */

static struct hf_sim *new_sim(uint8_t kind, uint8_t seed)
{
    struct hf_sim_config config;

    switch (kind % 4) {
    case 0:
    case 1:
        config = hf_sim_config_plain(seed);
        break;
    case 2:
        config = hf_sim_config_leased(seed);
        break;
    default:
        config = hf_sim_config_zookeeper(seed);
    }
    if (kind % 4 == 1)
        config.timeout_ms = config.least_timeout_ms = HF_FOREVER;
    else if (kind / 4 % 2 == 1) {
        config.refuse_chance = 30000;
        config.lose_chance = 10000;
        config.slow_chance = 30000;
        config.late_chance = 300000;
    }
    if (kind / 8 % 4 == 1)
        config.traits = 0;
    api.leased = kind % 4 != 1;
    return hf_sim_new(&config);
}

static void begin(const uint8_t *header)
{
    memset(&api, 0, sizeof(api));
    heap_install();
    api.sim = new_sim(header[0], header[1]);
    sim_clients_begin(api.sim);
    scheduler_begin(api.sim, header[1], header[2] / 4);
    MUST(uv_loop_init(&api.loop) == 0);
    api.main = pthread_self();
    for (unsigned i = 0; i < API_WORKERS; i++)
        api.workers[i].thread = scheduler_start_thread(work, &api.workers[i]);
}

static void end(uint8_t how)
{
    run_others(); /* let steps of the workers begin at least */
    end_faults();
    if (how % 4 != 0)
        end_waits();
    api.ends = true;
    close_all(how);
    end_workers();
    free_all();
    if (api.leased && !queues_are_empty())
        pass_time(UINT64_C(3) * API_SESSION_MS);
    MUST(uv_run(&api.loop, UV_RUN_NOWAIT) == 0);
    MUST(uv_loop_close(&api.loop) == 0);
    check_end();
    scheduler_end();
    hf_sim_free(api.sim); /* with what a client left there */
    MUST(heap_live() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < HEADER_BYTES)
        return 0;
    begin(data);
    run_program(data + HEADER_BYTES, bytes - HEADER_BYTES);
    end(data[3]);
    return 0;
}

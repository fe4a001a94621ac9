/* SPDX-License-Identifier: Apache-2.0 */
/* How each engine is opened, takes a step, loses its session and counts its
 * tickets. */
#include "shutdown_engine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shutdown_case.h"

bool case_is_readable(struct shutdown_case *test_case, int ms)
{
    uv_loop_t *loop = &test_case->fixture.loop;
    struct pollfd readable = {.fd = uv_backend_fd(loop), .events = POLLIN};

    return uv_backend_timeout(loop) == 0 || poll(&readable, 1, ms) > 0;
}

static bool is_always(const struct shutdown_engine *engine)
{
    (void)engine;
    return true;
}

static void run_loop_once(struct shutdown_case *test_case)
{
    (void)uv_run(&test_case->fixture.loop, UV_RUN_NOWAIT);
}

/* ----------------------------------------------------------------- model -- */

/* The status of the model in use, or of the last one. */
static struct model_status *_Atomic current_status;

/* Far from any time of a model. */
#define FAR_MS (UINT64_C(1) << 40)

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

/* A model has its own time.  It lies so far ahead that no timer of the
 * kernel fires for it. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    struct model_status *shown = atomic_load(&current_status);
    uint64_t now_ms = shown == NULL ? 0 : atomic_load(&shown->now_ms);

    if (clock != CLOCK_BOOTTIME || shown == NULL)
        return __real_clock_gettime(clock, now);
    if (now_ms == 0)
        now_ms = FAR_MS;
    now->tv_sec = (time_t)(now_ms / 1000);
    now->tv_nsec = (long)(now_ms % 1000) * 1000000L;
    return 0;
}

static struct model_status *find_status(const struct shutdown_engine *engine)
{
    char path[512];
    void *module;

    (void)snprintf(path, sizeof(path), "%s/engine-%s.so", MODEL_MODULE_DIR,
                   engine->detail);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return module == NULL ? NULL : dlsym(module, MODEL_STATUS_SYMBOL);
}

static void model_open(struct shutdown_case *test_case)
{
    struct engine_state *state = &test_case->state;
    char url[64];

    state->status = find_status(test_case->engine);
    CASE_CHECK(test_case, state->status != NULL);
    atomic_store(&current_status, state->status);
    CASE_CHECK(test_case, pipe2(state->pipe, O_CLOEXEC | O_NONBLOCK) == 0);
    state->sent = atomic_load(&state->status->executed);
    (void)snprintf(url, sizeof(url), "%s:?fd=%d", test_case->engine->detail,
                   state->pipe[0]);
    case_open(test_case, url);
}

/* Or nobody is left to execute commands. */
static bool model_executed(struct engine_state *state)
{
    return atomic_load(&state->status->executed) == state->sent ||
           atomic_load(&state->status->closed);
}

static void model_command(struct shutdown_case *test_case, char command)
{
    struct engine_state *state = &test_case->state;

    if (atomic_load(&state->status->closed))
        return;
    CASE_CHECK(test_case, write(state->pipe[1], &command, 1) == 1);
    state->sent++;
    while (!model_executed(state)) {
        if (test_case->way == WAY_UV)
            run_loop_once(test_case);
        else
            sched_yield();
    }
}

static void model_step(struct shutdown_case *test_case)
{
    model_command(test_case, MODEL_STEP);
}

static bool model_is_idle(struct shutdown_case *test_case)
{
    return atomic_load(&test_case->state.status->idle);
}

static void model_pause(struct shutdown_case *test_case)
{
    model_command(test_case, MODEL_PAUSE);
}

/* The second command brings what the first has made due. */
static void model_time_out(struct shutdown_case *test_case)
{
    model_command(test_case, MODEL_HOLD);
    model_command(test_case, MODEL_PAUSE);
}

static void model_lose(struct shutdown_case *test_case)
{
    model_command(test_case, MODEL_LOSE);
}

static long model_tickets(struct shutdown_case *test_case)
{
    return atomic_load(&test_case->state.status->tickets);
}

static void model_close(struct shutdown_case *test_case)
{
    CASE_CHECK(test_case, atomic_load(&test_case->state.status->closed));
    close(test_case->state.pipe[0]);
    close(test_case->state.pipe[1]);
    atomic_store(&current_status, NULL);
}

/* ---------------------------------------------------------- real engines -- */

/* How long the engine must be silent to count as idle, in milliseconds: a
 * server answers over a network. */
static int quiet_ms(const struct shutdown_engine *engine)
{
    return engine->detail == NULL ? 3 : 40;
}

static void real_step(struct shutdown_case *test_case)
{
    if (case_is_readable(test_case, quiet_ms(test_case->engine)))
        run_loop_once(test_case);
}

static bool real_is_idle(struct shutdown_case *test_case)
{
    return !case_is_readable(test_case, quiet_ms(test_case->engine));
}

static void real_idle(struct shutdown_case *test_case)
{
    (void)test_case; /* time passes anyway */
}

/* In memory where possible, because thousands of cases write token counters
 * to disk. */
static void file_open(struct shutdown_case *test_case)
{
    client_directory_create_in(&test_case->state.directory,
                               access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                             : "/tmp");
    case_open(test_case, test_case->state.directory.url);
}

static void file_lose(struct shutdown_case *test_case)
{
    client_directory_remove_tickets(&test_case->state.directory);
}

static long file_tickets(struct shutdown_case *test_case)
{
    return client_directory_count_tickets(&test_case->state.directory);
}

static void file_close(struct shutdown_case *test_case)
{
    client_directory_remove(&test_case->state.directory);
}

/* --------------------------------------------------------------- servers -- */

static bool server_is_there(const struct shutdown_engine *engine)
{
    return getenv(engine->detail) != NULL;
}

static void server_url(const struct shutdown_engine *engine, char *url,
                       size_t bytes)
{
    const char *address = getenv(engine->detail);
    bool is_url = address != NULL && strstr(address, "://") != NULL;

    (void)snprintf(url, bytes, "%s%s%s", is_url ? "" : engine->name,
                   is_url ? "" : "://", address == NULL ? "" : address);
}

static bool is_connected(void *arg)
{
    return hf_client_state(arg) == HF_STATE_CONNECTED;
}

/* The observer is a client with a thread too. */
static void server_open(struct shutdown_case *test_case)
{
    char url[256];

    server_url(test_case->engine, url, sizeof(url));
    test_case->state.observer = open_client(url);
    wait_until(is_connected, test_case->state.observer);
    test_case->threads = count_threads();
    case_open(test_case, url);
}

static hf_status list_queue(struct hf_client *observer,
                            const struct run_queue *queue,
                            struct hf_tickets **tickets)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_double_barrier *double_barrier;
    struct hf_lock *lock;
    hf_status status;

    if (queue->kind == HF_KIND_PARTICIPANT) {
        status =
            hf_double_barrier_open(observer, queue->name, 2, &double_barrier);
        if (status != HF_OK)
            return status;
        status =
            hf_double_barrier_participants(double_barrier, HF_FOREVER, tickets);
        hf_double_barrier_free(double_barrier);
        return status;
    }
    opts.kind = queue->kind;
    if ((status = hf_lock_open(observer, queue->name, &opts, &lock)) != HF_OK)
        return status;
    status = hf_lock_tickets(lock, HF_TICKETS_ALL, HF_FOREVER, tickets);
    hf_lock_free(lock);
    return status;
}

static long server_tickets(struct shutdown_case *test_case)
{
    struct hf_tickets *tickets;
    long count = 0;

    for (int i = 0; i < test_case->count; i++) {
        const struct script_run *run = &test_case->runs[i];

        for (int k = 0; k < run->queue_count; k++) {
            CASE_CHECK(test_case,
                       list_queue(test_case->state.observer, &run->queues[k],
                                  &tickets) == HF_OK);
            count += (long)hf_tickets_count(tickets);
            hf_tickets_free(tickets);
        }
    }
    return count;
}

static void server_close(struct shutdown_case *test_case)
{
    CASE_CHECK(test_case, server_tickets(test_case) == 0);
    CASE_CHECK(test_case, hf_client_close(test_case->state.observer) == HF_OK);
}

/* ---------------------------------------------------------------------- */

#define MODEL(called, scheme)                                                  \
    {                                                                          \
        .name = called, .detail = scheme, .virtual_time = true,                \
        .timeout_ms = MODEL_HOLD_MS / 2, .is_available = is_always,            \
        .open = model_open, .step = model_step, .is_idle = model_is_idle,      \
        .pause = model_pause, .time_out = model_time_out, .lose = model_lose,  \
        .tickets = model_tickets, .close = model_close,                        \
    }
#define SERVER(called, variable)                                               \
    {                                                                          \
        .name = called, .detail = variable, .timeout_ms = 300,                 \
        .is_available = server_is_there, .open = server_open,                  \
        .step = real_step, .is_idle = real_is_idle, .pause = real_idle,        \
        .time_out = real_idle, .tickets = server_tickets,                      \
        .close = server_close,                                                 \
    }

const struct shutdown_engine engines[] = {
    MODEL("plain", "modelplain"),
    MODEL("zkmodel", "modelzk"),
    MODEL("leased", "modelleased"),
    {
        .name = "file",
        .timeout_ms = 30,
        .is_available = is_always,
        .open = file_open,
        .step = real_step,
        .is_idle = real_is_idle,
        .pause = real_idle,
        .time_out = real_idle,
        .lose = file_lose,
        .tickets = file_tickets,
        .close = file_close,
    },
    SERVER("zk", "HF_ZK"),
    SERVER("redis", "HF_REDIS"),
    SERVER("postgresql", "HF_PG"),
    SERVER("etcd", "HF_ETCD"),
};
const int engine_count = sizeof(engines) / sizeof(engines[0]);

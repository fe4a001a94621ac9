/* SPDX-License-Identifier: Apache-2.0 */
#include "venue.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cell.h"

bool venue_is_readable(struct cell *cell, int ms)
{
    uv_loop_t *loop = &cell->front.loop;
    struct pollfd readable = {.fd = uv_backend_fd(loop), .events = POLLIN};

    return uv_backend_timeout(loop) == 0 || poll(&readable, 1, ms) > 0;
}

static bool is_always(const struct venue *venue)
{
    (void)venue;
    return true;
}

static void turn_once(struct cell *cell)
{
    (void)uv_run(&cell->front.loop, UV_RUN_NOWAIT);
}

/* ----------------------------------------------------------------- model -- */

/* That of the model in use, or of the one used last. */
static struct model_board *_Atomic board;

/* Where no model's time could be taken for it. */
#define FAR_MS (UINT64_C(1) << 40)

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

/* In a model there is no time but its own.  It is so far ahead that no timer
 * of the kernel's ever fires for it. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    struct model_board *shown = atomic_load(&board);
    uint64_t now_ms = shown == NULL ? 0 : atomic_load(&shown->now_ms);

    if (clock != CLOCK_BOOTTIME || shown == NULL)
        return __real_clock_gettime(clock, now);
    if (now_ms == 0)
        now_ms = FAR_MS;
    now->tv_sec = (time_t)(now_ms / 1000);
    now->tv_nsec = (long)(now_ms % 1000) * 1000000L;
    return 0;
}

static struct model_board *find_board(const struct venue *venue)
{
    char path[512];
    void *module;

    (void)snprintf(path, sizeof(path), "%s/engine-%s.so", MODEL_MODULE_DIR,
                   venue->detail);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return module == NULL ? NULL : dlsym(module, MODEL_BOARD_SYMBOL);
}

static void model_open(struct cell *cell)
{
    struct stage *stage = &cell->stage;
    char url[64];

    stage->board = find_board(cell->venue);
    CELL_CHECK(cell, stage->board != NULL);
    atomic_store(&board, stage->board);
    CELL_CHECK(cell, pipe2(stage->pipe, O_CLOEXEC | O_NONBLOCK) == 0);
    stage->told = atomic_load(&stage->board->obeyed);
    (void)snprintf(url, sizeof(url), "%s:?fd=%d", cell->venue->detail,
                   stage->pipe[0]);
    cell_open(cell, url);
}

/* Or there is nobody left to obey. */
static bool model_obeyed(struct stage *stage)
{
    return atomic_load(&stage->board->obeyed) == stage->told ||
           atomic_load(&stage->board->over);
}

static void model_tell(struct cell *cell, char command)
{
    struct stage *stage = &cell->stage;

    if (atomic_load(&stage->board->over))
        return;
    CELL_CHECK(cell, write(stage->pipe[1], &command, 1) == 1);
    stage->told++;
    while (!model_obeyed(stage)) {
        if (cell->way == WAY_UV)
            turn_once(cell);
        else
            sched_yield();
    }
}

static void model_step(struct cell *cell)
{
    model_tell(cell, MODEL_STEP);
}

static bool model_rests(struct cell *cell)
{
    return atomic_load(&cell->stage.board->settled);
}

static void model_pause(struct cell *cell)
{
    model_tell(cell, MODEL_PAUSE);
}

/* The second one brings what the first has made due. */
static void model_time_out(struct cell *cell)
{
    model_tell(cell, MODEL_HOLD);
    model_tell(cell, MODEL_PAUSE);
}

static void model_lose(struct cell *cell)
{
    model_tell(cell, MODEL_LOSE);
}

static long model_tickets(struct cell *cell)
{
    return atomic_load(&cell->stage.board->tickets);
}

static void model_close(struct cell *cell)
{
    CELL_CHECK(cell, atomic_load(&cell->stage.board->over));
    close(cell->stage.pipe[0]);
    close(cell->stage.pipe[1]);
    atomic_store(&board, NULL);
}

/* ------------------------------------------------------------- real ones -- */

/* So long nothing comes before it is taken for nothing to come: a server is
 * asked over a network. */
static int while_ms(const struct venue *venue)
{
    return venue->detail == NULL ? 3 : 40;
}

static void real_step(struct cell *cell)
{
    if (venue_is_readable(cell, while_ms(cell->venue)))
        turn_once(cell);
}

static bool real_rests(struct cell *cell)
{
    return !venue_is_readable(cell, while_ms(cell->venue));
}

static void real_idle(struct cell *cell)
{
    (void)cell; /* time passes of itself */
}

/* In memory, where there is such a place: thousands of cells write counters
 * that are to last. */
static void file_open(struct cell *cell)
{
    place_make_in(&cell->stage.place,
                  access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    cell_open(cell, cell->stage.place.url);
}

static void file_lose(struct cell *cell)
{
    place_rob(&cell->stage.place);
}

static long file_tickets(struct cell *cell)
{
    return place_tickets(&cell->stage.place);
}

static void file_close(struct cell *cell)
{
    place_remove(&cell->stage.place);
}

/* --------------------------------------------------------------- servers -- */

static bool server_is_there(const struct venue *venue)
{
    return getenv(venue->detail) != NULL;
}

static void server_url(const struct venue *venue, char *url, size_t bytes)
{
    const char *address = getenv(venue->detail);
    bool whole = address != NULL && strstr(address, "://") != NULL;

    (void)snprintf(url, bytes, "%s%s%s", whole ? "" : venue->name,
                   whole ? "" : "://", address == NULL ? "" : address);
}

static bool is_connected(void *arg)
{
    return hf_client_state(arg) == HF_STATE_CONNECTED;
}

/* Whoever observes has a thread too. */
static void server_open(struct cell *cell)
{
    char url[256];

    server_url(cell->venue, url, sizeof(url));
    cell->stage.observer = kit_client(url);
    kit_until(is_connected, cell->stage.observer);
    cell->threads = kit_threads();
    cell_open(cell, url);
}

static hf_status list_queue(struct hf_client *observer,
                            const struct play_queue *queue,
                            struct hf_tickets **tickets)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_double_barrier *round;
    struct hf_lock *lock;
    hf_status status;

    if (queue->kind == HF_KIND_PARTICIPANT) {
        status = hf_double_barrier_open(observer, queue->name, 2, &round);
        if (status != HF_OK)
            return status;
        status = hf_double_barrier_participants(round, HF_FOREVER, tickets);
        hf_double_barrier_free(round);
        return status;
    }
    opts.kind = queue->kind;
    if ((status = hf_lock_open(observer, queue->name, &opts, &lock)) != HF_OK)
        return status;
    status = hf_lock_tickets(lock, HF_TICKETS_ALL, HF_FOREVER, tickets);
    hf_lock_free(lock);
    return status;
}

static long server_tickets(struct cell *cell)
{
    struct hf_tickets *tickets;
    long count = 0;

    for (int i = 0; i < cell->count; i++) {
        const struct play *play = &cell->plays[i];

        for (int k = 0; k < play->queue_count; k++) {
            CELL_CHECK(cell, list_queue(cell->stage.observer, &play->queues[k],
                                        &tickets) == HF_OK);
            count += (long)hf_tickets_count(tickets);
            hf_tickets_free(tickets);
        }
    }
    return count;
}

static void server_close(struct cell *cell)
{
    CELL_CHECK(cell, server_tickets(cell) == 0);
    CELL_CHECK(cell, hf_client_close(cell->stage.observer) == HF_OK);
}

/* ---------------------------------------------------------------------- */

#define MODEL(called, scheme)                                                  \
    {                                                                          \
        .name = called, .detail = scheme, .by_hand = true,                     \
        .patience_ms = MODEL_HOLD_MS / 2, .is_there = is_always,               \
        .open = model_open, .step = model_step, .rests = model_rests,          \
        .pause = model_pause, .time_out = model_time_out, .lose = model_lose,  \
        .tickets = model_tickets, .close = model_close,                        \
    }
#define SERVER(called, variable)                                               \
    {                                                                          \
        .name = called, .detail = variable, .patience_ms = 300,                \
        .is_there = server_is_there, .open = server_open, .step = real_step,   \
        .rests = real_rests, .pause = real_idle, .time_out = real_idle,        \
        .tickets = server_tickets, .close = server_close,                      \
    }

const struct venue venues[] = {
    MODEL("plain", "modelplain"),
    MODEL("zkmodel", "modelzk"),
    MODEL("leased", "modelleased"),
    {
        .name = "file",
        .patience_ms = 30,
        .is_there = is_always,
        .open = file_open,
        .step = real_step,
        .rests = real_rests,
        .pause = real_idle,
        .time_out = real_idle,
        .lose = file_lose,
        .tickets = file_tickets,
        .close = file_close,
    },
    SERVER("zk", "HF_ZK"),
    SERVER("redis", "HF_REDIS"),
    SERVER("postgresql", "HF_PG"),
};
const int venue_count = sizeof(venues) / sizeof(venues[0]);

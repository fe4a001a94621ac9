/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "core/engine.h"
#include "engines/leased/leased.h"
#include "simulator/model/sim.h"

/* Long after every session has ended. */
#define AFTERWARDS_MS 60000

#define QUEUES_MAX 16
#define QUEUE_BYTES 128

__attribute__((visibility("default"))) struct model_board model_board;

static struct {
    struct hf_sim *sim; /* NULL: there is no client */
    struct hf_engine *engine;
    uint64_t epoch_ms; /* when its true time began */
    bool held;
    char queues[QUEUES_MAX][QUEUE_BYTES]; /* anybody asked about */
    size_t queue_count;
    int fd;
    uv_poll_t poll;
} world;

/* --------------------------------------------------------------- tickets -- */

static void note_queue(const char *queue)
{
    size_t i = 0;

    while (i < world.queue_count && strcmp(world.queues[i], queue) != 0)
        i++;
    if (i < world.queue_count)
        return;
    assert(world.queue_count < QUEUES_MAX && strlen(queue) < QUEUE_BYTES);
    strcpy(world.queues[world.queue_count++], queue);
}

static long count_tickets(void)
{
    struct hf_snapshot queue;
    long count = 0;

    for (size_t i = 0; i < world.queue_count; i++) {
        queue = hf_sim_queue(world.sim, world.queues[i]);
        for (size_t k = 0; k < queue.count; k++)
            count += queue.tickets[k].kind != HF_TICKET_READY;
    }
    return count;
}

static void show(void)
{
    atomic_store(&model_board.now_ms,
                 world.epoch_ms + hf_sim_now_us(world.sim) / 1000);
    atomic_store(&model_board.tickets, count_tickets());
    atomic_store(&model_board.settled, hf_sim_is_idle(world.sim));
}

/* -------------------------------------------------------------- commands -- */

static void hold(void)
{
    hf_sim_set_link(world.engine, false, false);
    world.held = true;
    hf_sim_run_ms(world.sim, MODEL_HOLD_MS);
}

/* What is due for the client's core meanwhile comes between this command and
 * the next. */
static void obey(char command)
{
    if (world.held)
        hf_sim_set_link(world.engine, true, true);
    world.held = false;
    switch (command) {
    case MODEL_STEP:
        (void)hf_sim_run_next(world.sim);
        break;
    case MODEL_PAUSE:
        hf_sim_run_ms(world.sim, MODEL_PAUSE_MS);
        break;
    case MODEL_HOLD:
        hold();
        break;
    case MODEL_LOSE:
        hf_sim_kill_session(world.engine);
        break;
    default:
        assert(false && "no such command");
    }
}

static void on_command(uv_poll_t *poll, int status, int events)
{
    char command;

    (void)poll;
    (void)status;
    (void)events;
    if (read(world.fd, &command, 1) != 1)
        return;
    obey(command);
    show();
    atomic_fetch_add(&model_board.obeyed, 1);
}

/* ---------------------------------------------------------------- engine -- */

static hf_status open_(const struct hf_url *url,
                       const struct hf_engine_host *host,
                       struct hf_engine **engine, struct hf_error *error)
{
    struct hf_sim_config config = MODEL_CONFIG(1);
    uv_loop_t *loop = host->loop(host->host);

    (void)error;
    assert(world.sim == NULL && loop != NULL);
    assert(config.traits == MODEL_TRAITS);
    world.epoch_ms = host->now_ms(host->host);
    world.sim = hf_sim_new(&config);
    world.queue_count = 0;
    world.engine = hf_sim_engine_new(world.sim, host);
    hf_sim_client_set_clock(world.engine, world.epoch_ms, 0);
    world.held = false;
    world.fd = atoi(hf_url_option(url, "fd"));
    (void)uv_poll_init(loop, &world.poll, world.fd);
    (void)uv_poll_start(&world.poll, UV_READABLE, on_command);
    atomic_store(&model_board.over, false);
    show();
    *engine = world.engine;
    return HF_OK;
}

static void request_(struct hf_engine *engine, struct hf_request *request)
{
    if (request->queue != NULL)
        note_queue(request->queue);
    hf_sim_ops(world.sim)->request(engine, request);
    show();
}

static void forget(struct hf_engine *engine, struct hf_request *watch)
{
    hf_sim_ops(world.sim)->unwatch(engine, watch);
    show();
}

static const char *describe(const struct hf_engine *engine)
{
    (void)engine;
    return MODEL_SCHEME ":";
}

static void after_fork(struct hf_engine *engine)
{
    (void)engine;
    close(world.fd);
}

static void free_(struct hf_engine *engine)
{
    hf_sim_ops(world.sim)->free(engine);
    uv_close((uv_handle_t *)&world.poll, NULL);
    atomic_store(&model_board.left, count_tickets());
    hf_sim_run_ms(world.sim, AFTERWARDS_MS);
    show();
    hf_sim_free(world.sim);
    world.sim = NULL;
    atomic_store(&model_board.over, true);
}

__attribute__((visibility("default")))
const struct hf_engine_ops hf_engine_module = {
    .abi = HF_ENGINE_ABI,
    .scheme = MODEL_SCHEME,
    .traits = MODEL_TRAITS,
    .open = open_,
    .request = request_,
    .unwatch = forget,
    .describe = describe,
    .after_fork = after_fork,
    .free = free_,
};

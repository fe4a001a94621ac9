/* SPDX-License-Identifier: Apache-2.0 */
/* The engine module around a simulated server: it executes one command at a
 * time and publishes its status. */
#include "model_engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/engine_host.h"
#include "base/url.h"
#include "core/engine.h"
#include "engines/leased/leased.h"
#include "simulator/model/sim.h"

/* Longer than any session lasts. */
#define AFTERWARDS_MS 60000

#define QUEUES_MAX 16
#define QUEUE_BYTES 128

__attribute__((visibility("default"))) struct model_status model_status;

static struct {
    struct hf_sim *sim; /* NULL: no client is open */
    struct hf_engine *engine;
    uint64_t epoch_ms; /* the client's time when the simulator's began */
    bool messages_held;
    char queues[QUEUES_MAX][QUEUE_BYTES]; /* that were used */
    size_t queue_count;
    int fd;
    uv_poll_t poll;
} model;

/* --------------------------------------------------------------- tickets -- */

static void note_queue(const char *queue)
{
    size_t i = 0;

    while (i < model.queue_count && strcmp(model.queues[i], queue) != 0)
        i++;
    if (i < model.queue_count)
        return;
    assert(model.queue_count < QUEUES_MAX && strlen(queue) < QUEUE_BYTES);
    strcpy(model.queues[model.queue_count++], queue);
}

static long count_tickets(void)
{
    struct hf_snapshot queue;
    long count = 0;

    for (size_t i = 0; i < model.queue_count; i++) {
        queue = hf_sim_queue(model.sim, model.queues[i]);
        for (size_t k = 0; k < queue.count; k++)
            count += queue.tickets[k].kind != HF_TICKET_READY;
    }
    return count;
}

static void publish(void)
{
    atomic_store(&model_status.now_ms,
                 model.epoch_ms + hf_sim_now_us(model.sim) / 1000);
    atomic_store(&model_status.tickets, count_tickets());
    atomic_store(&model_status.idle, hf_sim_is_idle(model.sim));
}

/* -------------------------------------------------------------- commands -- */

static void hold_messages(void)
{
    hf_sim_set_link(model.engine, false, false);
    model.messages_held = true;
    hf_sim_run_ms(model.sim, MODEL_HOLD_MS);
}

/* Timers of the client's core that become due now run before the next
 * command. */
static void execute(char command)
{
    if (model.messages_held)
        hf_sim_set_link(model.engine, true, true);
    model.messages_held = false;
    switch (command) {
    case MODEL_STEP:
        (void)hf_sim_run_next(model.sim);
        break;
    case MODEL_PAUSE:
        hf_sim_run_ms(model.sim, MODEL_PAUSE_MS);
        break;
    case MODEL_HOLD:
        hold_messages();
        break;
    case MODEL_LOSE:
        hf_sim_kill_session(model.engine);
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
    if (read(model.fd, &command, 1) != 1)
        return;
    execute(command);
    publish();
    atomic_fetch_add(&model_status.executed, 1);
}

/* ---------------------------------------------------------------- engine -- */

static hf_status open_(const struct hf_url *url,
                       const struct hf_engine_host *host,
                       struct hf_engine **engine, struct hf_error *error)
{
    struct hf_sim_config config = MODEL_CONFIG(1);
    uv_loop_t *loop = host->loop(host->host);

    (void)error;
    assert(model.sim == NULL && loop != NULL);
    assert(config.traits == MODEL_TRAITS);
    model.epoch_ms = host->now_ms(host->host);
    model.sim = hf_sim_new(&config);
    model.queue_count = 0;
    model.engine = hf_sim_engine_new(model.sim, host);
    hf_sim_client_set_clock(model.engine, model.epoch_ms, 0);
    model.messages_held = false;
    model.fd = atoi(hf_url_option(url, "fd"));
    (void)uv_poll_init(loop, &model.poll, model.fd);
    (void)uv_poll_start(&model.poll, UV_READABLE, on_command);
    atomic_store(&model_status.closed, false);
    publish();
    *engine = model.engine;
    return HF_OK;
}

static void request_(struct hf_engine *engine, struct hf_request *request)
{
    if (request->queue != NULL)
        note_queue(request->queue);
    hf_sim_ops(model.sim)->request(engine, request);
    publish();
}

static void unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    hf_sim_ops(model.sim)->unwatch(engine, watch);
    publish();
}

static const char *describe(const struct hf_engine *engine)
{
    (void)engine;
    return MODEL_SCHEME ":";
}

static void after_fork(struct hf_engine *engine)
{
    (void)engine;
    close(model.fd);
}

static void free_(struct hf_engine *engine)
{
    hf_sim_ops(model.sim)->free(engine);
    uv_close((uv_handle_t *)&model.poll, NULL);
    atomic_store(&model_status.tickets_at_close, count_tickets());
    hf_sim_run_ms(model.sim, AFTERWARDS_MS);
    publish();
    hf_sim_free(model.sim);
    model.sim = NULL;
    atomic_store(&model_status.closed, true);
}

__attribute__((visibility("default")))
const struct hf_engine_ops hf_engine_module = {
    .abi = HF_ENGINE_ABI,
    .scheme = MODEL_SCHEME,
    .traits = MODEL_TRAITS,
    .open = open_,
    .request = request_,
    .unwatch = unwatch,
    .describe = describe,
    .after_fork = after_fork,
    .free = free_,
};

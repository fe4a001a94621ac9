/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the plain model, see struct sim_model_ops. */
#include "simulator/model/sim_internal.h"

/* Deliver what was held up while the link was cut. */
static void flush(struct hf_engine *engine)
{
    if (engine->connection == NULL)
        return;
    if (engine->out_up)
        plain_flush(engine->connection, PLAIN_TO_SERVER);
    if (!engine->in_up)
        return;
    plain_flush(engine->connection, PLAIN_TO_CLIENT);
    plain_flush(engine->connection, PLAIN_NOTICES);
}

static void reset(struct hf_engine *engine)
{
    if (engine->connection != NULL)
        plain_connection_end(engine->connection);
}

static void kill_session(struct hf_engine *engine)
{
    if (engine->session != NULL && engine->session->alive)
        plain_session_end(engine->sim, engine->session);
}

static void crash(struct hf_engine *engine)
{
    reset(engine);
    if (sim_has_no_leases(engine->sim))
        kill_session(engine);
}

static void restart(struct hf_sim *sim)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next)
        reset(e);
}

/* The follower reads and writes through one leader, so a cut in either
 * direction cuts it off. */
static void stall(struct hf_engine *engine, bool out, bool in)
{
    struct plain_connection *connection = engine->connection;
    bool stalled = !out || !in;

    if (connection == NULL || connection->stalled == stalled)
        return;
    if (stalled) {
        connection->stale_queues = plain_copy_queues(engine->sim);
        connection->stalled = true;
    } else {
        plain_connection_unstall(connection);
    }
}

static void end_faults(struct hf_sim *sim)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next)
        stall(e, true, true);
}

/* Another program has an id that no client knows. */
static void set_barrier(struct hf_sim *sim, struct sim_queue *queue, bool up)
{
    struct hf_ticket_id id;

    if (up) {
        id = hf_ticket_id_random(&sim->random);
        (void)plain_barrier_set(sim, queue, &id);
    } else {
        (void)plain_barrier_clear(sim, queue);
    }
}

/* A ticket beside another one has its sequence, and comes behind it in the
 * queue. */
static void other_enqueue(struct hf_sim *sim, struct sim_queue *queue,
                          enum hf_ticket_kind kind,
                          const struct hf_ticket_id *ticket,
                          const struct sim_ticket *beside)
{
    struct hf_ticket like = {
        .id = *ticket,
        .kind = kind,
        .weight = 1,
        .payload = "another",
        .token = ++sim->transaction,
        .sequence =
            beside == NULL ? ++queue->sequence : beside->ticket.sequence,
    };

    sim_ticket_add(sim, queue, &like, NULL);
    plain_notify_queue_watches(sim, queue, 0);
}

static bool evict(struct hf_sim *sim, const struct hf_ticket_id *ticket,
                  struct sim_ticket *found)
{
    (void)ticket;
    if (found == NULL)
        return false;
    plain_ticket_remove(sim, found);
    return true;
}

static const void *owner(const struct hf_engine *engine)
{
    return engine->session;
}

static bool alive(const struct hf_engine *engine)
{
    return engine->session != NULL && engine->session->alive;
}

static bool connected(const struct hf_engine *engine)
{
    return engine->phase == PLAIN_CONNECTED && !engine->connection->stalled &&
           engine->connection->open;
}

static uint64_t lease_end_us(const struct hf_engine *engine,
                             const struct hf_ticket_id *ticket)
{
    (void)ticket;
    if (sim_has_no_leases(engine->sim))
        return UINT64_MAX;
    return sim_server_at_us(engine->sim, engine->session->deadline_us);
}

static void free_memory(struct hf_sim *sim)
{
    (void)sim;
}

const struct sim_model_ops sim_model_plain = {
    .start = plain_client_start,
    .request = plain_client_request,
    .unwatch = plain_client_unwatch,
    .free = plain_client_free,
    .thaw = plain_client_thaw,
    .flush = flush,
    .reset = reset,
    .crash = crash,
    .kill_session = kill_session,
    .stall = stall,
    .restart = restart,
    .end_faults = end_faults,
    .evict = evict,
    .other_enqueue = other_enqueue,
    .set_barrier = set_barrier,
    .touch_barrier = plain_barrier_touch,
    .owner = owner,
    .alive = alive,
    .connected = connected,
    .lease_end_us = lease_end_us,
    .free_memory = free_memory,
};

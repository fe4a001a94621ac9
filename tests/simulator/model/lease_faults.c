/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of the lease server, see lease_faults.h; and the parts of struct
 * sim_model_ops that are about the server.
 */
#include "simulator/model/lease_internal.h"

#include <assert.h>
#include <stdio.h>

#define NAME_BYTES 2048

bool hf_sim_is_leased(const struct hf_sim *sim)
{
    return sim->leases != NULL;
}

/* -------------------------------------------------------------- freezing -- */

static void flush_all(struct hf_sim *sim)
{
    for (struct lease_link *l = sim->leases->links; l != NULL; l = l->next)
        lease_link_flush(l);
}

static void freeze(struct hf_sim *sim)
{
    sim->leases->frozen++;
}

static void thaw(struct hf_sim *sim)
{
    assert(sim->leases->frozen > 0);
    if (--sim->leases->frozen == 0)
        flush_all(sim);
}

void hf_sim_lease_server_freeze(struct hf_sim *sim, bool machine)
{
    freeze(sim);
    if (machine && !sim->clock.stopped)
        sim_clock_set_stopped(&sim->clock, sim->now_us, true);
}

void hf_sim_lease_server_thaw(struct hf_sim *sim)
{
    if (sim->leases->frozen == 0)
        return; /* it was restarted meanwhile */
    if (sim->leases->frozen == 1 && sim->clock.stopped)
        sim_clock_set_stopped(&sim->clock, sim->now_us, false);
    thaw(sim);
}

/* There is one server and no network behind it, so a stall stops its
 * process. */
void lease_stall(struct hf_engine *engine, bool out, bool in)
{
    if (!out || !in)
        hf_sim_lease_server_freeze(engine->sim, false);
    else
        hf_sim_lease_server_thaw(engine->sim);
}

/* -------------------------------------------------------- stop and start -- */

void hf_sim_lease_server_stop(struct hf_sim *sim)
{
    while (sim->leases->frozen > 0)
        hf_sim_lease_server_thaw(sim);
    sim->leases->down = true;
    for (struct lease_link *l = sim->leases->links; l != NULL; l = l->next)
        lease_link_kill(l);
}

/* A server that lost its data has no standby. */
void hf_sim_lease_server_start(struct hf_sim *sim, bool wiped)
{
    if (!sim->leases->down)
        return;
    sim->leases->down = false;
    if (!wiped) {
        lease_fail_over(sim);
        return;
    }
    lease_standby_in_sync(sim);
    lease_server_wipe(sim->leases->server);
    lease_forget_tickets(sim);
}

static void start_later(void *arg)
{
    hf_sim_lease_server_start(arg, false);
}

void lease_restart(struct hf_sim *sim)
{
    hf_sim_lease_server_stop(sim);
    hf_sim_call_at(sim,
                   sim->now_us +
                       sim_random_between(sim, 0, 500 * sim->config.timeout_ms),
                   false, start_later, sim);
}

void lease_end_faults(struct hf_sim *sim)
{
    while (sim->leases->frozen > 0)
        hf_sim_lease_server_thaw(sim);
    hf_sim_lease_server_start(sim, false);
    sim->leases->loses_notices = false;
    sim->config.leases.notice_lost_chance = 0;
    sim->config.leases.notice_twice_chance = 0;
    sim->config.leases.notice_late_chance = 0;
    sim->config.leases.commit_chance = 0;
    lease_standby_in_sync(sim);
}

void hf_sim_lease_server_step_clock(struct hf_sim *sim, int64_t ms)
{
    sim->clock.base_us += (uint64_t)(1000 * ms);
    lease_expire_all(sim);
}

void hf_sim_lease_server_lose_notices(struct hf_sim *sim, bool lost)
{
    sim->leases->loses_notices = lost;
}

/* --------------------------------------------------------- other clients -- */

/* Remove all tickets of the session, as an administrator does who knows
 * them. */
void lease_kill_session(struct hf_engine *engine)
{
    const void *owner = engine->lease->client_session;
    struct hf_sim *sim = engine->sim;

    lease_standby_in_sync(sim);
    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        struct sim_ticket *next;

        for (struct sim_ticket *t = q->first; t != NULL; t = next) {
            next = t->next;
            if (owner != NULL && t->owner == owner)
                (void)lease_server_remove(sim->leases->server, q->name,
                                          &t->ticket.id);
        }
    }
}

bool lease_evict(struct hf_sim *sim, const struct hf_ticket_id *ticket,
                 struct sim_ticket *found)
{
    lease_standby_in_sync(sim);
    return found != NULL &&
           lease_server_remove(sim->leases->server, found->queue->name, ticket);
}

void lease_other_enqueue(struct hf_sim *sim, struct sim_queue *queue,
                         enum hf_ticket_kind kind,
                         const struct hf_ticket_id *ticket,
                         const struct sim_ticket *beside)
{
    assert(beside == NULL); /* the layout has no ticket beside another one */
    (void)beside;
    lease_standby_in_sync(sim);
    lease_server_add(sim->leases->server, lease_clock_ms(sim), queue->name,
                     kind, ticket);
}

/* The queue that a lock's barrier flags are in: the name with a slash. */
static const char *barrier_queue_of(struct hf_sim *sim,
                                    const struct sim_queue *queue)
{
    char name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "%s/", queue->name);
    return sim_strdup(sim, name);
}

/* As a client of another session does it. */
void lease_set_barrier(struct hf_sim *sim, struct sim_queue *queue, bool up)
{
    struct lease_answer answer = {0};
    struct lease_call copy = {0};
    struct hf_store_call call = {.session = "another",
                                 .ticket_kind = HF_TICKET_BARRIER,
                                 .weight = 1,
                                 .payload = "",
                                 .not_after_ms = UINT64_MAX};

    call.kind = up ? HF_STORE_SET_FLAG : HF_STORE_CLEAR_FLAG;
    call.queue = barrier_queue_of(sim, queue);
    call.ticket = hf_ticket_id_random(&sim->random);
    lease_standby_in_sync(sim);
    lease_call_copy(&copy, &call);
    lease_server_execute(sim->leases->server, lease_clock_ms(sim), &copy,
                         &answer);
    lease_answer_free(&answer);
    lease_call_free(&copy);
}

void lease_touch_barrier(struct hf_sim *sim, struct sim_queue *queue)
{
    lease_server_touch(sim->leases->server, barrier_queue_of(sim, queue));
}

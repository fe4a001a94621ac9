/* SPDX-License-Identifier: Apache-2.0 */
/* See etcd_faults.h; and the parts of struct sim_model_ops that are about
 * members. */
#include "simulator/model/etcd_faults.h"

#include <assert.h>

#include "simulator/model/etcd_client.h"

static struct etcd_member *member_at(struct hf_sim *sim, int member)
{
    assert(member >= 0 && (unsigned)member < sim->etcd->count);
    return &sim->etcd->members[member];
}

unsigned hf_sim_etcd_members(const struct hf_sim *sim)
{
    return sim->etcd == NULL ? 0 : sim->etcd->count;
}

int hf_sim_etcd_leader(const struct hf_sim *sim)
{
    const struct etcd_member *leader = etcd_leader(sim->etcd);

    return leader == NULL ? -1 : (int)leader->index;
}

/* ----------------------------------------------------------------- links -- */

static void set_link(struct etcd_member *member, bool out, bool in,
                     bool forwards)
{
    member->output_cut = !out;
    member->input_cut = !in;
    member->forwards_too = forwards;
    etcd_peers_flush(member);
}

void hf_sim_etcd_link(struct hf_sim *sim, int member, bool out, bool in,
                      bool forwards)
{
    set_link(member_at(sim, member), out, in, forwards);
}

/* A client's stall cuts off the member that it is connected to. */
void etcd_stall(struct hf_engine *engine, bool out, bool in)
{
    struct etcd_client *client = engine->etcd;

    if (out && in) {
        if (client->stalled != NULL)
            set_link(client->stalled, true, true, false);
        client->stalled = NULL;
    } else if (client->connection != NULL && client->stalled == NULL) {
        client->stalled = client->connection->member;
        set_link(client->stalled, out, in,
                 sim_random_between(engine->sim, 0, 1) == 0);
    }
}

/* --------------------------------------------------------------- members -- */

void hf_sim_etcd_freeze(struct hf_sim *sim, int member, bool machine)
{
    etcd_member_freeze(member_at(sim, member), machine);
}

void hf_sim_etcd_thaw(struct hf_sim *sim, int member)
{
    etcd_member_thaw(member_at(sim, member));
}

void hf_sim_etcd_stick_disk(struct hf_sim *sim, int member, bool stuck)
{
    etcd_member_stick_disk(member_at(sim, member), stuck);
}

void hf_sim_etcd_stop(struct hf_sim *sim, int member, bool politely)
{
    etcd_member_stop(member_at(sim, member), politely);
}

void hf_sim_etcd_start(struct hf_sim *sim, int member)
{
    etcd_member_start(member_at(sim, member));
}

static void start_later(void *arg)
{
    etcd_member_start(arg);
}

/* All members are killed, and start again one by one. */
void etcd_restart(struct hf_sim *sim)
{
    for (unsigned i = 0; i < sim->etcd->count; i++) {
        struct etcd_member *member = &sim->etcd->members[i];

        etcd_member_stop(member, sim_random_between(sim, 0, 1) == 0);
        hf_sim_call_at(sim,
                       sim->now_us +
                           sim_random_between(sim, 0, etcd_election_us(sim)),
                       false, start_later, member);
    }
}

void etcd_end_faults(struct hf_sim *sim)
{
    for (unsigned i = 0; i < sim->etcd->count; i++) {
        struct etcd_member *member = &sim->etcd->members[i];

        etcd_member_thaw(member);
        etcd_member_stick_disk(member, false);
        set_link(member, true, true, false);
        etcd_member_start(member);
    }
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next)
        e->etcd->stalled = NULL;
    hf_sim_etcd_make_room(sim);
}

/* --------------------------------------------------------- administrator -- */

void hf_sim_etcd_compact(struct hf_sim *sim, unsigned keep)
{
    int64_t revision = sim->etcd->store.revision - (int64_t)keep;

    if (revision <= sim->etcd->store.compacted)
        return;
    etcd_command_new(sim, ETCD_COMPACT)->number = revision;
    etcd_commands_push(sim->etcd);
}

void hf_sim_etcd_change_auth(struct hf_sim *sim)
{
    (void)etcd_command_new(sim, ETCD_CHANGE_AUTH);
    etcd_commands_push(sim->etcd);
}

void hf_sim_etcd_fill(struct hf_sim *sim)
{
    sim->etcd->full = !sim->etcd->store.no_space;
}

void hf_sim_etcd_make_room(struct hf_sim *sim)
{
    sim->etcd->full = false;
    /* The alarm may not have been raised yet, for lack of a leader. */
    (void)etcd_command_new(sim, ETCD_SET_ALARM);
    etcd_commands_push(sim->etcd);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a member: its clocks and its timer, its jobs, and what happens
 * when its process is stopped, killed or waits for its disk. */
#include "simulator/model/etcd_internal.h"

#include <assert.h>
#include <string.h>

#define MS_US UINT64_C(1000)
/* What a process does after it was stopped, it does in this time. */
#define WAKING_US (3 * MS_US)
/* Streams of clients that want a leader end after so many elections. */
#define NO_LEADER_ELECTIONS 3

uint64_t etcd_clock_us(const struct etcd_member *member)
{
    return sim_clock_read_us(&member->clock, member->sim->now_us);
}

uint64_t etcd_ticks_us(const struct etcd_member *member)
{
    return sim_clock_read_us(&member->ticks, member->sim->now_us);
}

/* ------------------------------------------------------------------ jobs -- */

static void run_job(void *arg)
{
    struct etcd_job *job = arg;
    struct etcd_member *member = job->member;

    if (member->down || job->life != member->life)
        return;
    if (!member->frozen) {
        job->run(job->arg);
        return;
    }
    job->next = member->held;
    member->held = job;
}

static void start_job(struct etcd_member *member, uint64_t us, bool background,
                      void (*run)(void *arg), void *arg)
{
    struct etcd_job *job = sim_alloc(member->sim, sizeof *job);

    *job = (struct etcd_job){member, member->life, run, arg, NULL};
    hf_sim_call_at(member->sim, member->sim->now_us + us, background, run_job,
                   job);
}

void etcd_member_later(struct etcd_member *member, uint64_t most_us,
                       void (*run)(void *arg), void *arg)
{
    start_job(member, sim_random_between(member->sim, 0, most_us), false, run,
              arg);
}

void etcd_member_after(struct etcd_member *member, uint64_t us,
                       void (*run)(void *arg), void *arg)
{
    start_job(member, us, true, run, arg);
}

/* ----------------------------------------------------------------- timer -- */

static uint64_t no_leader_at_us(const struct etcd_member *member)
{
    if (member->no_leader_since_us == 0 || member->connections == NULL)
        return UINT64_MAX;
    return member->no_leader_since_us +
           NO_LEADER_ELECTIONS * etcd_election_us(member->sim);
}

/* monitorLeader() of etcd. */
static void end_streams(struct etcd_member *member)
{
    for (struct etcd_connection *c = member->connections; c != NULL;
         c = c->next) {
        for (struct etcd_call *call = c->calls; call != NULL; call = call->next)
            if (call->streaming && call->hasleader && etcd_call_lives(call))
                etcd_call_end(call, ETCD_NO_LEADER);
    }
}

static uint64_t next_us(const struct etcd_member *member)
{
    uint64_t now_us = member->sim->now_us;
    uint64_t next_us = UINT64_MAX, other_us;

    if (!member->disk_stuck)
        next_us = sim_clock_when_us(&member->ticks, now_us,
                                    etcd_raft_next_us(member));
    if (member->primary) {
        other_us = sim_clock_when_us(&member->clock, now_us, member->expiry_us);
        next_us = other_us < next_us ? other_us : next_us;
    }
    other_us = no_leader_at_us(member);
    return other_us < next_us ? other_us : next_us;
}

static void on_timer(void *arg)
{
    struct etcd_member *member = arg;

    if (member->armed_us > member->sim->now_us)
        return; /* another timer was set */
    member->armed_us = UINT64_MAX;
    if (member->down || member->frozen)
        return;
    if (!member->disk_stuck &&
        etcd_ticks_us(member) >= etcd_raft_next_us(member))
        etcd_raft_tick(member);
    if (member->primary)
        etcd_lessor_expire(member);
    if (member->sim->now_us >= no_leader_at_us(member)) {
        end_streams(member);
        member->no_leader_since_us = member->sim->now_us;
    }
    etcd_member_arm(member);
}

void etcd_member_arm(struct etcd_member *member)
{
    uint64_t at_us = next_us(member);

    if (at_us == UINT64_MAX || member->frozen || member->down ||
        at_us >= member->armed_us)
        return;
    member->armed_us = at_us;
    hf_sim_call_at(member->sim, at_us, true, on_timer, member);
}

/* ---------------------------------------------------------------- frozen -- */

void etcd_member_freeze(struct etcd_member *member, bool machine)
{
    if (member->frozen)
        return;
    member->frozen = true;
    if (machine)
        sim_clock_set_stopped(&member->clock, member->sim->now_us, true);
    sim_clock_set_stopped(&member->ticks, member->sim->now_us, true);
}

static void release_held(struct etcd_member *member)
{
    struct etcd_job *job = member->held;

    member->held = NULL;
    while (job != NULL) {
        struct etcd_job *next = job->next;

        hf_sim_call_at(member->sim,
                       member->sim->now_us +
                           sim_random_between(member->sim, 0, WAKING_US),
                       false, run_job, job);
        job = next;
    }
}

static void receive_again(void *arg)
{
    struct etcd_member *member = arg;

    member->links_at_us = 0;
    etcd_peers_flush(member);
    for (struct etcd_connection *c = member->sim->etcd->connections; c != NULL;
         c = c->next_ever) {
        if (c->member == member)
            etcd_connection_flush(c);
    }
}

static void tick_again(void *arg)
{
    struct etcd_member *member = arg;

    etcd_ready(member);
    etcd_member_arm(member);
}

/* What comes first is random: what has arrived meanwhile, what the clocks say,
 * or what was begun before.  If it is stopped again soon, only a part of that
 * happens. */
void etcd_member_thaw(struct etcd_member *member)
{
    struct hf_sim *sim = member->sim;
    uint64_t links_us;

    if (!member->frozen)
        return;
    member->frozen = false;
    if (member->clock.stopped)
        sim_clock_set_stopped(&member->clock, sim->now_us, false);
    if (!member->disk_stuck)
        sim_clock_set_stopped(&member->ticks, sim->now_us, false);
    member->armed_us = UINT64_MAX;
    if (member->down)
        return;
    links_us = sim_random_between(sim, 1, WAKING_US);
    member->links_at_us = sim->now_us + links_us;
    start_job(member, links_us, true, receive_again, member);
    etcd_member_later(member, WAKING_US, tick_again, member);
    release_held(member);
}

/* ------------------------------------------------------------------ disk -- */

void etcd_member_stick_disk(struct etcd_member *member, bool stuck)
{
    if (member->disk_stuck == stuck || member->down)
        return;
    member->disk_stuck = stuck;
    if (!member->frozen)
        sim_clock_set_stopped(&member->ticks, member->sim->now_us, stuck);
    if (!stuck) {
        etcd_ready(member);
        member->armed_us = UINT64_MAX;
        etcd_member_arm(member);
    }
}

/* -------------------------------------------------------- stop and start -- */

static void close_connections(struct etcd_member *member, bool politely)
{
    while (member->connections != NULL) {
        struct etcd_frame goaway = {.kind = ETCD_FRAME_GOAWAY,
                                    .call = UINT32_MAX};

        if (politely)
            etcd_reply(member->connections, &goaway);
        etcd_connection_close_server(member->connections);
    }
}

static void start_clocks(struct etcd_member *member)
{
    member->frozen = member->disk_stuck = false;
    if (member->clock.stopped)
        sim_clock_set_stopped(&member->clock, member->sim->now_us, false);
    if (member->ticks.stopped)
        sim_clock_set_stopped(&member->ticks, member->sim->now_us, false);
}

/* What is not on the disk is lost. */
void etcd_member_stop(struct etcd_member *member, bool politely)
{
    if (member->down)
        return;
    close_connections(member, politely && !member->frozen);
    member->down = true;
    member->life++;
    start_clocks(member);
    etcd_peers_drop(member);
    etcd_renewals_retry(member);
    member->held = NULL;
    member->reads = NULL;
    member->waiting = NULL;
    member->outbox = NULL;
    member->outbox_end = &member->outbox;
    member->applying = false;
    member->primary = member->leads = false;
    member->known_lead = member->lead = -1;
    member->role = ETCD_FOLLOWER;
}

/* It applies again what it has applied, which nobody notices, so the model
 * begins behind that. */
void etcd_member_start(struct etcd_member *member)
{
    if (!member->down)
        return;
    member->down = false;
    member->links_at_us = 0;
    member->log = member->saved_log;
    member->term = member->saved_term;
    member->vote = member->saved_vote;
    member->commit = member->handed = member->applied;
    for (struct etcd_token *t = member->sim->etcd->tokens; t != NULL;
         t = t->next)
        t->valid_until_us[member->index] = 0;
    for (struct etcd_lease *l = member->sim->etcd->leases; l != NULL;
         l = l->next)
        l->expires_us[member->index] = UINT64_MAX;
    member->armed_us = UINT64_MAX;
    member->no_leader_since_us = member->sim->now_us;
    etcd_raft_start(member);
    etcd_ready(member);
}

/* --------------------------------------------------------------- cluster -- */

struct etcd_member *etcd_leader(const struct etcd_cluster *cluster)
{
    const struct etcd_member *leader = NULL;

    for (unsigned i = 0; i < cluster->count; i++) {
        const struct etcd_member *member = &cluster->members[i];

        if (!member->down && member->role == ETCD_LEADER &&
            member->term >= cluster->committed->term &&
            (leader == NULL || member->term > leader->term))
            leader = member;
    }
    return (struct etcd_member *)leader;
}

static bool works(const struct etcd_member *member)
{
    return !member->down && !member->frozen && !member->disk_stuck &&
           !member->input_cut && !member->output_cut;
}

bool etcd_can_commit(const struct etcd_member *member)
{
    const struct etcd_cluster *cluster = member->sim->etcd;
    const struct etcd_member *leader = etcd_leader(cluster);
    unsigned count = 0;

    if (leader == NULL || !works(leader) || !works(member) ||
        !leader->primary || member->known_lead != (int)leader->index)
        return false;
    for (unsigned i = 0; i < cluster->count; i++)
        count += works(&cluster->members[i]);
    return count > cluster->count / 2;
}

static void member_init(struct etcd_member *member, struct hf_sim *sim,
                        unsigned index)
{
    member->sim = sim;
    member->index = index;
    member->clock.ppm = member->ticks.ppm = sim->config.server_ppm;
    member->clock.base_us = 1000 * (1000 + sim_random_between(sim, 0, 1000000));
    member->ticks.base_us = member->clock.base_us;
    member->outbox_end = &member->outbox;
    member->log = member->saved_log = &sim->etcd->first;
    member->commit = member->handed = member->applied = &sim->etcd->first;
    member->vote = member->saved_vote = -1;
    member->known_lead = -1;
    member->armed_us = UINT64_MAX;
    member->no_leader_since_us = 1;
}

struct etcd_cluster *etcd_cluster_new(struct hf_sim *sim)
{
    struct etcd_cluster *cluster = sim_alloc(sim, sizeof *cluster);
    static struct etcd_command nothing;

    sim->etcd = cluster;
    cluster->sim = sim;
    cluster->count = sim->config.etcd.members;
    assert(cluster->count > 0 && cluster->count <= ETCD_MEMBERS_MAX);
    cluster->first = (struct etcd_entry){.command = &nothing,
                                         .committed = true,
                                         .revision = 1,
                                         .auth_revision = 1};
    cluster->committed = &cluster->first;
    cluster->auth_revision = 1;
    etcd_store_init(&cluster->store, sim);
    etcd_peers_init(cluster);
    for (unsigned i = 0; i < cluster->count; i++)
        member_init(&cluster->members[i], sim, i);
    for (unsigned i = 0; i < cluster->count; i++)
        etcd_raft_start(&cluster->members[i]);
    /* The first one is about to lead. */
    cluster->members[0].election_us = 0;
    for (unsigned i = 0; i < cluster->count; i++)
        etcd_member_arm(&cluster->members[i]);
    return cluster;
}

void etcd_cluster_free(struct etcd_cluster *cluster)
{
    for (struct etcd_connection *c = cluster->connections; c != NULL;
         c = c->next_ever)
        etcd_writer_free(&c->received);
    etcd_store_free(&cluster->store);
}

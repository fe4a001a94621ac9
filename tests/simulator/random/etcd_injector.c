/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the members of an etcd cluster in random runs: those of
 * docs/engine-etcd.md under which its keep-alives were seen to lie, and what an
 * administrator does. */
#include "simulator/model/etcd_faults.h"
#include "simulator/random/server_faults.h"

/* A process that is continued in slices runs this long, and is stopped this
 * long in between. */
#define SLICE_RUN_US (3 * MS_US)
#define SLICE_STOP_US (200 * MS_US)
#define SLICES_MAX 12

static struct hf_sim *sim(void)
{
    return plan.cluster->sim;
}

static void *arg_of(int member)
{
    return (void *)(uintptr_t)member;
}

static int member_of(void *arg)
{
    return (int)(uintptr_t)arg;
}

/* Often the leader. */
static int any_member(void)
{
    int leader = hf_sim_etcd_leader(sim());

    return leader >= 0 && one_in(2) ? leader
                                    : (int)below(hf_sim_etcd_members(sim()));
}

/* --------------------------------------------------------------- stopped -- */

/* Some outlast a lease, an election and the lease that a new leader gives. */
static uint64_t long_us(void)
{
    return one_in(3) ? below(4000 * plan.scale_ms) : fault_us();
}

static void thaw(void *arg)
{
    hf_sim_etcd_thaw(sim(), member_of(arg));
}

static void freeze(int member)
{
    bool machine = one_in(3);

    cluster_trace(plan.cluster, "-", "m%d %s", member + 1,
                  machine ? "pauses" : "freezes");
    hf_sim_etcd_freeze(sim(), member, machine);
    later(long_us(), thaw, arg_of(member));
}

static void stop_slice(void *arg)
{
    if (!plan.faults_over)
        hf_sim_etcd_freeze(sim(), member_of(arg), false);
}

/* After a time as that of any freeze it runs for a moment now and then, in
 * which it does some of what it has missed. */
static void freeze_in_slices(int member)
{
    uint64_t at_us = long_us();
    uint64_t slices = 1 + below(SLICES_MAX);

    cluster_trace(plan.cluster, "-", "m%d freezes, and goes on in slices",
                  member + 1);
    hf_sim_etcd_freeze(sim(), member, false);
    for (uint64_t i = 0; i < slices; i++) {
        later(at_us, thaw, arg_of(member));
        at_us += 200 + below(SLICE_RUN_US);
        later(at_us, stop_slice, arg_of(member));
        at_us += below(SLICE_STOP_US);
    }
    later(at_us, thaw, arg_of(member));
}

static void free_disk(void *arg)
{
    cluster_trace(plan.cluster, "-", "the disk of m%d goes on",
                  member_of(arg) + 1);
    hf_sim_etcd_stick_disk(sim(), member_of(arg), false);
}

static void stick_disk(int member)
{
    cluster_trace(plan.cluster, "-", "the disk of m%d stands still",
                  member + 1);
    hf_sim_etcd_stick_disk(sim(), member, true);
    later(long_us(), free_disk, arg_of(member));
}

/* ----------------------------------------------------------------- links -- */

static void restore(void *arg)
{
    hf_sim_etcd_link(sim(), member_of(arg), true, true, false);
}

/* In one direction or both; with what members ask each other by HTTP, or
 * without. */
static void cut(int member)
{
    bool out = one_in(3), in = !out && one_in(2), forwards = one_in(2);

    cluster_trace(plan.cluster, "-", "m%d is cut off%s%s", member + 1,
                  out  ? " from what others send"
                  : in ? " from sending to others"
                       : "",
                  forwards ? "" : ", keep-alives apart");
    hf_sim_etcd_link(sim(), member, out, in, forwards);
    later(long_us(), restore, arg_of(member));
}

static void start(void *arg)
{
    hf_sim_etcd_start(sim(), member_of(arg));
}

static void restart(int member)
{
    bool politely = one_in(2);

    cluster_trace(plan.cluster, "-", "m%d is %s", member + 1,
                  politely ? "ended" : "killed");
    hf_sim_etcd_stop(sim(), member, politely);
    later(fault_us(), start, arg_of(member));
}

/* --------------------------------------------------------- administrator -- */

static void make_room(void *arg)
{
    (void)arg;
    hf_sim_etcd_make_room(sim());
}

static void fill(void)
{
    cluster_trace(plan.cluster, "-", "the database is full");
    plan.cluster->full = true;
    hf_sim_etcd_fill(sim());
    later(fault_us(), make_room, NULL);
}

void inject_etcd_fault(enum fault fault)
{
    int member = any_member();

    switch (fault) {
    case FAULT_ETCD_FREEZE:
        freeze(member);
        break;
    case FAULT_ETCD_SLICES:
        freeze_in_slices(member);
        break;
    case FAULT_ETCD_DISK:
        stick_disk(member);
        break;
    case FAULT_ETCD_CUT:
        cut(member);
        break;
    case FAULT_ETCD_RESTART:
        restart(member);
        break;
    case FAULT_ETCD_COMPACT:
        cluster_trace(plan.cluster, "-", "compaction");
        hf_sim_etcd_compact(sim(), (unsigned)below(4));
        break;
    case FAULT_ETCD_AUTH:
        cluster_trace(plan.cluster, "-", "a role is changed");
        hf_sim_etcd_change_auth(sim());
        break;
    default:
        fill();
    }
}

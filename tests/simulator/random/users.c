/* SPDX-License-Identifier: Apache-2.0 */
/* The users of random runs: what they acquire, for how long, and when they
 * cancel. */
#include "simulator/random/users.h"

#include <holdfast/holdfast.h>

#include "simulator/cluster/barrier.h"
#include "simulator/cluster/operation.h"
#include "simulator/random/decision.h"
#include "simulator/random/fault_injector.h"

/* ----------------------------------------------------------------- locks -- */

/* A process that is frozen releases when it runs again. */
static void release(void *arg)
{
    struct attempt *attempt = arg;

    if (attempt->forgotten || attempt->release_called ||
        !attempt->client->alive)
        return;
    if (!cluster_can_call(attempt->client)) {
        later(10 * MS_US, release, attempt);
        return;
    }
    cluster_release(attempt);
}

static void downgrade(void *arg)
{
    struct attempt *attempt = arg;

    if (!attempt->forgotten && !attempt->release_called && !attempt->lost &&
        cluster_can_call(attempt->client) && !attempt->client->closing)
        cluster_downgrade(attempt);
}

/* Holders with proof=lazy start a check now and then. */
static void check(void *arg)
{
    struct attempt *attempt = arg;

    if (attempt->forgotten || attempt->release_called || attempt->lost ||
        attempt->client->closing)
        return;
    if (cluster_can_call(attempt->client))
        cluster_check(attempt);
    later(1 + below(attempt->hold_us + 1), check, attempt);
}

static void on_granted(struct attempt *attempt)
{
    if (cluster_proves_lazily(plan.cluster) && one_in(2))
        later(below(attempt->hold_us + 1), check, attempt);
    if (attempt->a.kind == HF_TICKET_WRITE && one_in(2))
        later(below(attempt->hold_us + 1), downgrade, attempt);
    later(attempt->hold_us, release, attempt);
}

static void on_lost(struct attempt *attempt)
{
    if (attempt->release_on_loss)
        later(below(5) * MS_US, release, attempt);
}

static void cancel(void *arg)
{
    struct attempt *attempt = arg;

    if (!attempt->forgotten)
        cluster_cancel(attempt);
}

static enum hf_ticket_kind any_kind(const struct lock *lock)
{
    if (plan.cluster->mixed_kinds && one_in(20))
        return HF_TICKET_MUTEX;
    if (!lock->read_write)
        return lock->election ? HF_TICKET_ELECTION : HF_TICKET_MUTEX;
    return one_in(2) ? HF_TICKET_READ : HF_TICKET_WRITE;
}

#define SPECS_MAX 3

/* Add ${lock} to the locks that are acquired, if it is one that can be. */
static unsigned add_spec(struct lock_spec *specs, unsigned count,
                         struct lock *lock)
{
    if (lock->limit > 0) /* the semaphore is acquired at its first lock */
        return count;
    specs[count] = (struct lock_spec){.lock = lock, .weight = 1};
    if (lock->leases != NULL) {
        specs[count].kind = HF_TICKET_LEASE;
        specs[count].weight = 1 + (uint32_t)below(lock->leases->limit);
    } else {
        specs[count].kind = any_kind(lock);
    }
    return count + 1;
}

/* Locks are acquired in the order of the cluster, which is the same for all
 * users, so that they do not deadlock. */
static unsigned choose_specs(struct lock_spec specs[SPECS_MAX])
{
    unsigned locks = plan.cluster->lock_count;
    bool many = plan.multi_locks && one_in(4);
    unsigned count = 0;

    do {
        unsigned first = (unsigned)below(locks);

        for (unsigned i = first; i < locks && count < SPECS_MAX; i++) {
            if (i == first || (many && one_in(2)))
                count = add_spec(specs, count, &plan.cluster->locks[i]);
        }
    } while (count == 0);
    return count;
}

/* The user of ${client} starts one attempt. */
static void want_one(struct client *client)
{
    struct lock_spec specs[SPECS_MAX];
    unsigned count = choose_specs(specs);
    bool only_try = one_in(6);
    uint64_t wait_ms = one_in(3) ? below(3000) : HF_FOREVER;
    uint64_t report_ms = one_in(8) ? 20 + below(200) : 0;
    uint64_t hold_us = below(4) == 0 ? below(20) : below(plan.hold_max_us);
    bool cancels = one_in(6);
    uint64_t cancel_us = below(one_in(2) ? 10 : 500) * MS_US;
    bool release_on_loss = one_in(2);
    struct attempt *attempt;

    specs[0].shares = plan.cohorts && count == 1 &&
                      specs[0].kind == HF_TICKET_MUTEX && !one_in(4);
    if (specs[0].shares && plan.crowded)
        hold_us = below(MS_US);
    /* A grant may come from inside the call, so the plan for it comes first. */
    attempt = cluster_want_all(client, specs, count, only_try, wait_ms,
                               report_ms, hold_us, release_on_loss);
    if (cancels)
        later(cancel_us, cancel, attempt);
}

/* A waiter at a semaphore gets another number of permits. */
static void resize(struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        uint32_t limit = HF_WEIGHT_MAX;

        for (unsigned i = 0; i < a->item_count; i++) {
            if (a->items[i].lock->limit > 0)
                limit = a->items[i].lock->limit;
        }
        if (a->forgotten || limit == HF_WEIGHT_MAX || a->limited)
            continue;
        a->limited = true;
        cluster_limit(a, limit + (uint32_t)below(2));
        return;
    }
}

static unsigned busy(const struct client *client)
{
    unsigned count = 0;

    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        count += !a->forgotten;
    return count;
}

/* More attempts than a ticket is handed on to. */
#define CROWDED_MAX (2 * HF_MUTEX_HANDOFFS)

static void use_lock_once(struct client *client)
{
    if (cluster_can_call(client) && !client->closing &&
        busy(client) < (plan.crowded ? CROWDED_MAX : 4))
        want_one(client);
    if (plan.multi_locks && cluster_can_call(client) && !client->closing &&
        one_in(8))
        resize(client);
}

/* A client has at most 4 attempts at a time, or more if users share tickets. */
static void use_locks(void *arg)
{
    struct client *client = arg;
    unsigned i = (unsigned)(client - plan.cluster->clients);

    if (plan.faults_over)
        return;
    if (decision_taken(DECISION_USER, i))
        use_lock_once(client);
    later(
        decision_delay_us(DECISION_USER, i, 1 + below(2 * plan.want_every_us)),
        use_locks, client);
}

/* An attempt of any client; its ticket may be gone. */
static struct attempt *any_attempt(void)
{
    struct attempt *found = NULL;
    uint64_t count = 0;

    for (struct attempt *a = any_client()->attempts; a != NULL && count < 8;
         a = a->next) {
        if (a->enqueued && one_in(++count))
            found = a;
    }
    return found;
}

/* Some client lists a queue, or evicts or revokes a ticket. */
static void start_random_operation(void)
{
    struct client *client = any_client();
    struct attempt *target = any_attempt();
    uint64_t wait_ms = one_in(3) ? below(2000) : HF_FOREVER;

    if (!cluster_can_call(client) || client->closing)
        return;
    if (target == NULL || one_in(3))
        operation_list(client,
                       &plan.cluster->locks[below(plan.cluster->lock_count)],
                       wait_ms);
    else if (plan.faults >> FAULT_EVICT & 1 && one_in(3))
        operation_evict(client, target, wait_ms);
    else
        operation_revoke(client, target, wait_ms);
}

static void run_operation(void *arg)
{
    (void)arg;
    if (plan.faults_over)
        return;
    if (decision_taken(DECISION_OPERATION, 0))
        start_random_operation();
    later(decision_delay_us(DECISION_OPERATION, 0,
                            1 + below(4 * plan.want_every_us)),
          run_operation, NULL);
}

/* -------------------------------------------------------------- barriers -- */

static void cancel_wait(void *arg)
{
    operation_cancel(arg);
}

/* Somebody sets or clears a barrier or waits there, most often the last. */
static void use_barrier_once(struct barrier *barrier)
{
    struct client *client = any_client();
    uint64_t wait_ms = one_in(3) ? below(3000) : HF_FOREVER;
    struct user_operation *user_operation;

    if (one_in(6)) {
        hf_sim_other_client_touch_barrier(plan.cluster->sim, barrier->name);
    } else if (one_in(6)) {
        hf_sim_other_client_set_barrier(plan.cluster->sim, barrier->name,
                                        one_in(2));
    } else if (cluster_can_call(client) && !client->closing) {
        if (one_in(2)) {
            operation_set_barrier(client, barrier, one_in(2), wait_ms);
        } else {
            user_operation =
                operation_wait(client, barrier, one_in(6) ? 0 : wait_ms);
            if (one_in(4))
                later(below(500) * MS_US, cancel_wait, user_operation);
        }
    }
}

static void use_barrier(void *arg)
{
    struct barrier *barrier = arg;
    unsigned i = (unsigned)(barrier - plan.cluster->barriers);

    if (plan.faults_over)
        return;
    if (decision_taken(DECISION_BARRIER, i))
        use_barrier_once(barrier);
    later(decision_delay_us(DECISION_BARRIER, i,
                            1 + below(2 * plan.want_every_us)),
          use_barrier, barrier);
}

/* At the end the barrier is cleared again and again, because an operation that
 * sets it may still be under way. */
static void clear_for_good(void *arg)
{
    struct barrier *barrier = arg;

    if (barrier->is_set)
        hf_sim_other_client_set_barrier(plan.cluster->sim, barrier->name,
                                        false);
    hf_sim_call_at(plan.cluster->sim, now_us() + 100 * MS_US, true,
                   clear_for_good, barrier);
}

void users_add_barrier(struct barrier *barrier)
{
    later(below(4 * plan.want_every_us), use_barrier, barrier);
}

/* ---------------------------------------------------------- other client -- */

/* Another program that writes, and then reads at the same position, as a
 * downgrade of Curator's read-write lock does.  Those of etcd do not read. */
static void other_client_once(struct lock *lock)
{
    struct cluster *cluster = plan.cluster;
    struct hf_ticket_id next = hf_ticket_id_random(&cluster->random);
    struct hf_snapshot queue = hf_sim_queue(cluster->sim, lock->name);

    if (!plan.other_queued) {
        cluster_add_ticket_record(cluster, &next, NULL, NULL);
        plan.other_queued = hf_sim_other_client_enqueue(
            cluster->sim, lock->name, HF_TICKET_WRITE, &next, NULL);
        plan.other_ticket = next;
        plan.other_reads = false;
        cluster_trace(cluster, "other", "wants to write %s", lock->name);
    } else if (!plan.other_reads && cluster->config.etcd.members == 0 &&
               hf_snapshot_find(&queue, &plan.other_ticket) == 0 && one_in(4)) {
        cluster_add_ticket_record(cluster, &next, NULL, NULL);
        hf_sim_other_client_enqueue(cluster->sim, lock->name, HF_TICKET_READ,
                                    &next, &plan.other_ticket);
        hf_sim_evict(cluster->sim, lock->name, &plan.other_ticket);
        plan.other_ticket = next;
        plan.other_reads = true;
        cluster_trace(cluster, "other", "reads %s now", lock->name);
    } else if ((plan.other_reads || cluster->config.etcd.members > 0) &&
               one_in(4)) {
        hf_sim_evict(cluster->sim, lock->name, &plan.other_ticket);
        plan.other_queued = false;
        cluster_trace(cluster, "other", "leaves %s", lock->name);
    }
}

static void other_client(void *arg)
{
    struct lock *lock = arg;

    if (plan.faults_over && !plan.other_queued)
        return;
    if (decision_taken(DECISION_OTHER_CLIENT, 0))
        other_client_once(lock);
    later(decision_delay_us(DECISION_OTHER_CLIENT, 0,
                            (10 + below(plan.other_queued ? 40 : 400)) * MS_US),
          other_client, lock);
}

void users_add_other_client(struct lock *lock)
{
    later(0, other_client, lock);
}

/* ---------------------------------------------------------- entry points -- */

void users_start(void)
{
    plan.cluster->on_granted = on_granted;
    plan.cluster->on_lost = on_lost;
    later(below(4 * plan.want_every_us), run_operation, NULL);
}

void user_start(struct client *client)
{
    later(below(2 * plan.want_every_us), use_locks, client);
}

void users_stop(void)
{
    struct cluster *cluster = plan.cluster;

    if (plan.other_queued) {
        hf_sim_evict(cluster->sim, cluster->locks[0].name, &plan.other_ticket);
        plan.other_queued = false;
    }
    for (unsigned i = 0; i < cluster->barrier_count; i++)
        clear_for_good(&cluster->barriers[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners that take locks at random: with tickets of their own, with one that
 * the owners of a client share, and for any owner; they pass grants on, ask
 * each other for a release, and run others inside their command.
 *
 * In an ordered run each lock is behind all that the owner holds, so that there
 * is no deadlock.  In an unordered one deadlocks arise by themselves.
 */
#include "simulator/random/deadlock_private.h"

#define UNORDERED_HOLDS_MAX 3

static size_t below(size_t bound)
{
    return (size_t)deadlock_below(bound);
}

/* --------------------------------------------------------------- choices -- */

/* The first lock behind all that ${owner} and those around it hold; owners of a
 * cycle have the first ones to themselves. */
static size_t first_behind(const struct deadlock_owner *owner)
{
    size_t lock = DEADLOCK_LOCKS;

    while (lock > deadlock_run.cycle && !deadlock_holds_lock(owner, lock - 1))
        lock--;
    return lock;
}

static size_t count_held(const struct deadlock_owner *owner)
{
    size_t count = 0;

    for (const struct deadlock_want *w = owner->wants; w != NULL; w = w->next)
        count += deadlock_is_held(w);
    return count;
}

/* The next lock for ${owner}; DEADLOCK_LOCKS: it has enough. */
static size_t choose_lock(const struct deadlock_owner *owner)
{
    size_t lock;

    if (deadlock_run.kind == DEADLOCK_UNORDERED) {
        lock = below(deadlock_run.lock_count);
        if (deadlock_holds_lock(owner, lock) && below(8) > 0)
            lock = below(deadlock_run.lock_count);
        return count_held(owner) < UNORDERED_HOLDS_MAX ? lock : DEADLOCK_LOCKS;
    }
    lock = first_behind(owner) + below(3);
    return lock < DEADLOCK_LOCKS ? lock : DEADLOCK_LOCKS;
}

static enum hf_ticket_kind choose_kind(size_t lock)
{
    if (!deadlock_run.locks[lock].read_write)
        return HF_TICKET_MUTEX;
    return below(2) == 0 ? HF_TICKET_READ : HF_TICKET_WRITE;
}

/* One that looks has a ticket of its own.  A shared ticket is that of a mutex,
 * and an owner does not wait for itself in a cohort, because it counts. */
static enum deadlock_way choose_way(const struct deadlock_owner *owner,
                                    size_t lock)
{
    const struct deadlock_lock *wanted = &deadlock_run.locks[lock];

    if (below(6) == 0)
        return DEADLOCK_UNLISTED;
    return !owner->detects && !wanted->read_write && wanted->limit == 0 &&
                   !deadlock_holds_lock(owner, lock)
               ? DEADLOCK_SHARED
               : DEADLOCK_LISTED;
}

static void acquire_some(struct deadlock_owner *owner, size_t lock)
{
    enum deadlock_way way = choose_way(owner, lock);
    /* In an unordered run, if nobody can find that they wait for each other,
     * the run would stop there. */
    bool may_stop = deadlock_run.kind == DEADLOCK_UNORDERED &&
                    (way != DEADLOCK_LISTED || !owner->detects);
    uint64_t wait_ms =
        below(3) == 0 && !may_stop ? HF_FOREVER : 500 + below(6000);
    uint32_t limit = deadlock_run.locks[lock].limit;
    uint32_t permits = 1 + (limit > 0 ? (uint32_t)below(limit) : 0);

    deadlock_acquire(owner, lock, choose_kind(lock), permits, wait_ms, way);
}

/* ---------------------------------------------------- between the owners -- */

static void go_on(struct deadlock_owner *owner);

/* Another process that does nothing; NULL: there is none. */
static struct deadlock_owner *find_idle(const struct deadlock_owner *owner)
{
    for (size_t i = deadlock_run.cycle; i < deadlock_run.count; i++) {
        struct deadlock_owner *idle = &deadlock_run.owners[i];

        if (idle != owner && idle->client->owners == 1 && idle->wants == NULL &&
            idle->outer == NULL && idle->inner_count == 0)
            return idle;
    }
    return NULL;
}

/* ${owner} runs one or two others in its command, and goes on when the last of
 * these has ended. */
static void run_others(struct deadlock_owner *owner)
{
    uint64_t count = 1 + below(2);
    struct deadlock_owner *inner;

    while (count-- > 0 && (inner = find_idle(owner)) != NULL) {
        deadlock_begin_inner(owner, inner);
        deadlock_plan(inner, below(50), go_on);
        deadlock_run.end->counts.nested++;
    }
    if (owner->inner_count == 0)
        deadlock_plan(owner, below(300), go_on);
}

/* ${owner} asks for the release of something that somebody holds or wants. */
static void revoke_some(struct deadlock_owner *owner)
{
    const struct deadlock_owner *other =
        &deadlock_run.owners[below(deadlock_run.count)];

    for (const struct deadlock_want *w = other->wants; w != NULL; w = w->next) {
        if ((!w->granted && w != other->waiting) || w->released ||
            below(2) == 0)
            continue;
        deadlock_revoke(owner, w);
        return;
    }
}

static void leave_now(struct deadlock_owner *owner)
{
    if (owner->waiting != NULL)
        deadlock_cancel(owner);
    else
        go_on(owner);
}

/* So do those that run in its command, because a run ends all of it. */
void deadlock_workload_leave(struct deadlock_owner *owner)
{
    owner->leaving = true;
    deadlock_plan(owner, below(300), leave_now);
    for (size_t i = 0; i < deadlock_run.count; i++) {
        if (deadlock_run.owners[i].outer == owner)
            deadlock_workload_leave(&deadlock_run.owners[i]);
    }
}

/* ------------------------------------------------------------- one owner -- */

/* Release everything; a run inside another has ended then. */
static void end_work(struct deadlock_owner *owner)
{
    struct deadlock_owner *outer = owner->outer;

    deadlock_release_all(owner);
    owner->leaving = false;
    if (outer != NULL) {
        deadlock_end_inner(owner);
        if (outer->inner_count == 0)
            deadlock_plan(outer, below(100), go_on);
    }
    if (!deadlock_run.stopping)
        deadlock_plan(owner, 10 + below(500), go_on);
}

/* What ${owner} does, one thing at a time. */
static void go_on(struct deadlock_owner *owner)
{
    uint64_t choice;
    size_t lock;

    if (owner->waiting != NULL || owner->inner_count > 0)
        return;
    lock = choose_lock(owner);
    if (lock == DEADLOCK_LOCKS || owner->leaving || deadlock_run.stopping) {
        end_work(owner);
        return;
    }
    choice = below(12);
    if (choice <= 1) {
        if (choice == 0)
            deadlock_pass_on(owner);
        else
            revoke_some(owner);
        deadlock_plan(owner, below(100), go_on);
    } else if (choice <= 3 && count_held(owner) > 0) {
        run_others(owner);
    } else {
        acquire_some(owner, lock);
    }
}

void deadlock_workload_begin(struct deadlock_owner *owner)
{
    deadlock_plan(owner, below(1000), go_on);
}

/* Was ${want} in a deadlock at some instant of the look that has ended? */
static bool is_justified(const struct deadlock_want *want)
{
    if (deadlock_run.kind != DEADLOCK_UNORDERED)
        return false;
    if (want->looks && !want->was_blocked && want->was_blocked_by_remains) {
        deadlock_run.end->counts.remains++;
        deadlock_trace(want->owner, "had waited for one that had given up");
    }
    return want->looks && (want->was_blocked || want->was_blocked_by_remains);
}

void deadlock_workload_continue(struct deadlock_owner *owner,
                                const struct deadlock_want *want,
                                hf_status status)
{
    if (status == HF_EDEADLK) {
        deadlock_check(is_justified(want), 1,
                       "a deadlock was reported, and there is none");
        deadlock_run.end->counts.found++;
    }
    if (status == HF_EDEADLK || (status != HF_OK && below(2) == 0))
        owner->leaving = true;
    else if (below(10) < 2)
        owner->leaving = true;
    deadlock_plan(owner, below(owner->leaving ? 1500 : 300), go_on);
}

/* --------------------------------------------------------- the whole run -- */

/* Clients with one to three threads; a third of these do not look. */
void deadlock_workload_start(uint64_t seed)
{
    size_t clients = 3 + below(3);

    for (size_t i = 0; i < clients; i++) {
        struct deadlock_client *client = deadlock_client_new(seed);
        size_t owners = below(2) == 0 ? 1 : 2 + below(2);

        while (owners-- > 0) {
            struct deadlock_owner *owner = deadlock_owner_new(client);

            owner->detects = below(3) > 0;
            deadlock_workload_begin(owner);
        }
    }
}

void deadlock_workload_stop(void)
{
    for (size_t i = deadlock_run.cycle; i < deadlock_run.count; i++) {
        if (deadlock_run.owners[i].waiting == NULL)
            deadlock_plan(&deadlock_run.owners[i], 1, go_on);
    }
}

/* In an unordered run those are left that nobody can find. */
void deadlock_workload_check_end(void)
{
    if (deadlock_run.kind == DEADLOCK_UNORDERED)
        deadlock_check(!deadlock_truth_has_unfound(), 3,
                       "a deadlock was not found");
    for (size_t i = 0;
         deadlock_run.kind == DEADLOCK_ORDERED && i < deadlock_run.count; i++)
        deadlock_check(deadlock_run.owners[i].waiting == NULL, 2,
                       "an owner was not granted in the end");
}

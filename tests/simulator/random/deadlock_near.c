/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that look like a deadlock to a reader that is careless about one thing:
 * a semaphore has another permit, the owner of a ticket waits no longer, a lock
 * that a text names was lost, or the waits of a cycle are never there at
 * once.  Three owners, each a process.
 */
#include "simulator/random/deadlock_private.h"

static size_t below(size_t bound)
{
    return (size_t)deadlock_below(bound);
}

static void acquire(struct deadlock_owner *owner, size_t lock)
{
    deadlock_acquire(owner, lock, HF_TICKET_MUTEX, 1, HF_FOREVER,
                     DEADLOCK_LISTED);
}

static void leave(struct deadlock_owner *owner)
{
    deadlock_release_all(owner);
    owner->finished = true;
}

/* Have all that hold something in the beginning got it? */
static bool is_last_to_join(size_t count)
{
    return ++deadlock_run.joined == count;
}

static void check_granted(hf_status status)
{
    deadlock_check(status == HF_OK, 1,
                   "a deadlock was reported, and there is none");
}

/* --------------------------------------------------------------- permits -- */

/* Owner 0 holds a permit of "0" and waits for "1", which owner 1 holds, who
 * waits for a permit.  Owner 2 has the other permit for a while.  Owners 2 and
 * 1 also read "2"; the ticket of owner 2 is the first one there, and says since
 * it was enqueued that its owner holds the permit. */
static void wait_for_next(struct deadlock_owner *owner)
{
    acquire(owner, deadlock_number(owner) == 0 ? 1 : 0);
}

static void read_third(struct deadlock_owner *owner)
{
    deadlock_acquire(owner, 2, HF_TICKET_READ, 1, HF_FOREVER, DEADLOCK_LISTED);
}

static void begin_permit_waits(void)
{
    deadlock_plan(&deadlock_run.owners[0], 100 + below(500), wait_for_next);
    deadlock_plan(&deadlock_run.owners[1], below(100), read_third);
    deadlock_plan(&deadlock_run.owners[2], 3000 + below(5000), leave);
}

static void continue_with_permits(struct deadlock_owner *owner,
                                  const struct deadlock_want *want,
                                  hf_status status)
{
    size_t number = deadlock_number(owner);

    check_granted(status);
    if (number == 2 && want->lock == 0)
        deadlock_plan(owner, 10, read_third);
    else if (number == 1 && want->lock == 2)
        deadlock_plan(owner, 100 + below(500), wait_for_next);
    else if (want->lock != number)
        deadlock_plan(owner, below(200), leave);
    else if (is_last_to_join(3))
        begin_permit_waits();
}

/* ------------------------------------------------------------------ lost -- */

/* Owners 0 and 1 hold "0" and "1" and wait for each other; owner 0 loses "0"
 * while it waits, and owner 2 is next in line for that. */
static void wait_for_first(struct deadlock_owner *owner)
{
    acquire(owner, 0);
}

void deadlock_evict_some(struct deadlock_owner *owner)
{
    for (struct deadlock_want *w = owner->wants; w != NULL; w = w->next) {
        if (!deadlock_is_held(w) || deadlock_run.locks[w->lock].limit > 0)
            continue;
        deadlock_trace(owner, "is evicted from %s",
                       deadlock_run.locks[w->lock].name);
        (void)hf_sim_evict(deadlock_run.sim, deadlock_run.locks[w->lock].name,
                           deadlock_ticket_of(w));
        return;
    }
}

static void evict_first(void *arg)
{
    deadlock_evict_some(arg);
}

static void begin_waits_and_loss(void)
{
    deadlock_plan(&deadlock_run.owners[0], 100 + below(500), wait_for_next);
    deadlock_plan(&deadlock_run.owners[1], 100 + below(500), wait_for_next);
    deadlock_plan(&deadlock_run.owners[2], 10, wait_for_first);
    deadlock_later_us(1000000, evict_first, &deadlock_run.owners[0]);
}

static void continue_with_loss(struct deadlock_owner *owner,
                               const struct deadlock_want *want,
                               hf_status status)
{
    size_t number = deadlock_number(owner);

    check_granted(status);
    if (number == 2)
        deadlock_plan(owner, 3000 + below(5000), leave);
    else if (want->lock != number)
        deadlock_plan(owner, below(200), leave);
    else if (is_last_to_join(2))
        begin_waits_and_loss();
}

/* -------------------------------------------------------------- by turns -- */

/* By turns: owner 0 holds "0" and waits for "1"; owner 1 holds "1" and waits
 * for "2" from time to time; owner 2 holds "2" and waits for "0" when owner 1
 * does not wait. */
static void cancel_wait(void *arg)
{
    deadlock_cancel(arg);
}

static void wait_shortly(void *arg)
{
    struct deadlock_owner *owner = arg;

    if (deadlock_run.stopping)
        return;
    acquire(owner, deadlock_number(owner) == 1 ? 2 : 0);
    deadlock_later_us(1000 + below(15000), cancel_wait, owner);
}

static void wait_for_long(struct deadlock_owner *owner)
{
    acquire(owner, 1);
}

static void begin_by_turns(struct deadlock_owner *owner)
{
    wait_shortly(owner);
}

static void continue_by_turns(struct deadlock_owner *owner,
                              const struct deadlock_want *want,
                              hf_status status)
{
    size_t number = deadlock_number(owner);

    deadlock_check(status != HF_EDEADLK, 1,
                   "a deadlock was reported, and there is none");
    if (status != HF_OK)
        deadlock_later_us(1, wait_shortly,
                          &deadlock_run.owners[number == 1 ? 2 : 1]);
    else if (want->lock == number && number == 0)
        deadlock_plan(owner, 200, wait_for_long);
    else if (want->lock == number && number == 1)
        deadlock_plan(owner, 400, begin_by_turns);
}

/* --------------------------------------------------------- the whole run -- */

void deadlock_near_continue(struct deadlock_owner *owner,
                            const struct deadlock_want *want, hf_status status)
{
    if (deadlock_run.kind == DEADLOCK_BY_TURNS)
        continue_by_turns(owner, want, status);
    else if (deadlock_run.kind == DEADLOCK_LOST)
        continue_with_loss(owner, want, status);
    else
        continue_with_permits(owner, want, status);
}

/* By turns only the first one looks, and nobody else is there. */
void deadlock_near_start(uint64_t seed)
{
    bool by_turns = deadlock_run.kind == DEADLOCK_BY_TURNS;
    size_t others = by_turns ? 0 : below(3);

    for (size_t i = 0; i < deadlock_run.cycle + others; i++) {
        struct deadlock_owner *owner =
            deadlock_owner_new(deadlock_client_new(seed));

        owner->detects = !by_turns || i == 0;
        if (i >= deadlock_run.cycle)
            deadlock_workload_begin(owner);
        else if (deadlock_run.kind != DEADLOCK_LOST || i < 2)
            acquire(owner, by_turns ? i : i % 2);
    }
}

void deadlock_near_check_end(void)
{
    if (deadlock_run.kind == DEADLOCK_BY_TURNS)
        return;
    for (size_t i = 0; i < deadlock_run.cycle; i++)
        deadlock_check(deadlock_run.owners[i].finished, 2,
                       "an owner was not granted in the end");
}

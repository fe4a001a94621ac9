/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deadlock among many: up to 100 owners in the cycle, or a cycle of a few,
 * for whose first lock hundreds wait.  Of these some hold a lock themselves, as
 * services do that wait for a common one; nobody waits for that, so they are
 * part of no deadlock.  In a third of the runs the cycle stays open, and then
 * there is none at all.
 *
 * Owner and lock number i belong together; those of the cycle come first.
 */
#include "simulator/random/deadlock_private.h"

/* The threads of one client. */
#define THREADS_MAX 20

static size_t below(size_t bound)
{
    return (size_t)deadlock_below(bound);
}

static bool is_in_cycle(const struct deadlock_owner *owner)
{
    return deadlock_number(owner) < deadlock_run.cycle;
}

void deadlock_many_choose(void)
{
    switch (below(3)) {
    case 0:
        deadlock_run.cycle = 20 + below(81);
        deadlock_run.waiters = below(20);
        break;
    case 1:
        deadlock_run.cycle = 2 + below(5);
        deadlock_run.waiters = 65 + below(36);
        deadlock_run.waiters_holding = deadlock_run.waiters;
        break;
    default:
        deadlock_run.cycle = 2 + below(5);
        deadlock_run.waiters = 258 + below(43);
        deadlock_run.waiters_holding = below(deadlock_run.waiters);
    }
    deadlock_run.is_open = below(3) == 0;
}

/* ------------------------------------------------------- what owners do -- */

static void leave(struct deadlock_owner *owner)
{
    deadlock_release_all(owner);
    owner->finished = true;
}

/* Wait for ${lock}, which somebody holds alone. */
static void wait_for(struct deadlock_owner *owner, size_t lock)
{
    deadlock_acquire(owner, lock,
                     !deadlock_run.locks[lock].read_write ? HF_TICKET_MUTEX
                     : below(2) == 0                      ? HF_TICKET_READ
                                                          : HF_TICKET_WRITE,
                     1, HF_FOREVER, DEADLOCK_LISTED);
}

static void wait_for_first(struct deadlock_owner *owner)
{
    wait_for(owner, 0);
}

static void wait_for_next(struct deadlock_owner *owner)
{
    wait_for(owner, (deadlock_number(owner) + 1) % deadlock_run.cycle);
}

/* Take the lock of one's own, all permits of it. */
static void join(struct deadlock_owner *owner)
{
    const struct deadlock_lock *lock =
        &deadlock_run.locks[deadlock_number(owner)];

    deadlock_acquire(owner, deadlock_number(owner),
                     lock->read_write ? HF_TICKET_WRITE : HF_TICKET_MUTEX,
                     lock->limit, HF_FOREVER, DEADLOCK_LISTED);
}

/* All that are to hold something do: the others wait for the first lock, and
 * those in the cycle for each other. */
static void begin_waits(void)
{
    for (size_t i = 0; i < deadlock_run.count; i++) {
        struct deadlock_owner *owner = &deadlock_run.owners[i];

        if (!is_in_cycle(owner))
            deadlock_plan(owner, below(3000), wait_for_first);
        else if (i > 0 || !deadlock_run.is_open)
            deadlock_plan(owner, 1500 + below(3000), wait_for_next);
        else
            deadlock_plan(owner, 10000 + below(20000), leave);
    }
}

void deadlock_many_continue(struct deadlock_owner *owner,
                            const struct deadlock_want *want, hf_status status)
{
    bool joins = want->lock == deadlock_number(owner);

    if (status == HF_EDEADLK) {
        deadlock_run.end->counts.found++;
        deadlock_check(is_in_cycle(owner) && !deadlock_run.is_open, 1,
                       "a deadlock was reported, and there is none");
        deadlock_check(owner->detects, 2, "an owner that does not look failed");
        deadlock_check(deadlock_run.end->counts.found == 1, 2,
                       "a deadlock had two victims");
    } else {
        deadlock_check(status == HF_OK, 2, "a wait failed otherwise");
    }
    if (!joins)
        deadlock_plan(owner, below(20), leave);
    else if (++deadlock_run.joined ==
             deadlock_run.cycle + deadlock_run.waiters_holding)
        begin_waits();
}

/* --------------------------------------------------------- the whole run -- */

void deadlock_many_start(uint64_t seed)
{
    struct deadlock_client *client = NULL;
    size_t threads = 0;

    for (size_t i = 0; i < deadlock_run.cycle + deadlock_run.waiters; i++) {
        struct deadlock_owner *owner;

        if (threads == 0) {
            client = deadlock_client_new(seed);
            threads = 1 + below(THREADS_MAX);
        }
        threads--;
        owner = deadlock_owner_new(client);
        owner->detects = below(3) > 0;
        if (i < deadlock_run.cycle + deadlock_run.waiters_holding)
            deadlock_plan(owner, below(1500), join);
    }
    deadlock_run.owners[below(deadlock_run.cycle)].detects = true;
}

void deadlock_many_check_end(void)
{
    deadlock_check(deadlock_run.is_open || deadlock_run.end->counts.found == 1,
                   2, "a deadlock was not found");
    for (size_t i = 0; i < deadlock_run.count; i++)
        deadlock_check(deadlock_run.owners[i].finished, 2,
                       "an owner was not granted in the end");
}

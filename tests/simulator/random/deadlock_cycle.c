/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deadlock that is made: 2 to 6 owners hold a lock each, and then each waits
 * for that of the next one.  Some are threads of one process, some hold their
 * lock by a ticket that threads share and that was handed on to them, some run
 * inside the command of a run that holds it.  Others wait in the same queues
 * for a while.
 *
 * Owner and lock number i of the cycle belong together.
 */
#include "simulator/random/deadlock_private.h"

static size_t below(size_t bound)
{
    return (size_t)deadlock_below(bound);
}

static bool is_in_cycle(const struct deadlock_owner *owner)
{
    return deadlock_number(owner) < deadlock_run.cycle;
}

/* --------------------------------------------------------- in the cycle -- */

/* Does a writer hold ${lock} of the cycle? */
static bool is_written(size_t lock)
{
    const struct deadlock_owner *owner = &deadlock_run.owners[lock];
    const struct deadlock_want *w =
        (owner->outer != NULL ? owner->outer : owner)->wants;

    while (w != NULL && w->lock != lock)
        w = w->next;
    return w != NULL && w->a.kind == HF_TICKET_WRITE;
}

/* Wait for the lock of the next one: behind a writer as a reader too. */
static void close_cycle(struct deadlock_owner *owner)
{
    size_t lock = (deadlock_number(owner) + 1) % deadlock_run.cycle;

    deadlock_acquire(owner, lock,
                     !deadlock_run.locks[lock].read_write ? HF_TICKET_MUTEX
                     : is_written(lock) && below(2) == 0  ? HF_TICKET_READ
                                                          : HF_TICKET_WRITE,
                     1, below(3) == 0 ? 59000 : HF_FOREVER, DEADLOCK_LISTED);
}

/* An owner holds its lock, or the run around it does.  When all do, they wait
 * for each other. */
static void joined(void)
{
    if (++deadlock_run.joined < deadlock_run.cycle)
        return;
    for (size_t i = 0; i < deadlock_run.cycle; i++)
        deadlock_plan(&deadlock_run.owners[i], 500 + below(3000), close_cycle);
}

static void leave_outer(struct deadlock_owner *owner)
{
    deadlock_release_all(owner);
}

static void leave_cycle(struct deadlock_owner *owner)
{
    struct deadlock_owner *outer = owner->outer;

    deadlock_release_all(owner);
    owner->finished = true;
    if (outer == NULL)
        return;
    deadlock_end_inner(owner);
    deadlock_plan(outer, below(100), leave_outer);
}

/* Wait for ${lock}, all permits of it; ${owner} is one of the cycle, or the
 * run around it. */
static void join(struct deadlock_owner *owner, size_t lock)
{
    const struct deadlock_lock *wanted = &deadlock_run.locks[lock];
    bool reads = wanted->read_write && below(2) == 0;
    bool shares = wanted->limit == 0 && !wanted->read_write &&
                  !owner->detects && below(3) > 0;

    deadlock_acquire(owner, lock,
                     reads                ? HF_TICKET_READ
                     : wanted->read_write ? HF_TICKET_WRITE
                                          : HF_TICKET_MUTEX,
                     wanted->limit, HF_FOREVER,
                     shares ? DEADLOCK_SHARED : DEADLOCK_LISTED);
}

static void join_cycle(struct deadlock_owner *owner)
{
    join(owner, deadlock_number(owner));
}

static void continue_in_cycle(struct deadlock_owner *owner,
                              const struct deadlock_want *want,
                              hf_status status)
{
    if (status == HF_EDEADLK) {
        deadlock_run.end->counts.found++;
        deadlock_check(owner->detects, 2, "an owner that does not look failed");
        deadlock_check(deadlock_run.end->counts.found == 1, 2,
                       "a deadlock had two victims");
    } else {
        deadlock_check(status == HF_OK, 2,
                       "a wait of the cycle failed otherwise");
    }
    if (want->lock == deadlock_number(owner))
        joined();
    else
        deadlock_plan(owner, below(200), leave_cycle);
}

/* ---------------------------------------------------------- runs around -- */

/* Take the lock of the owner that is to run inside. */
static void begin_outer(struct deadlock_owner *outer)
{
    join(outer, outer->client->inner);
}

static void continue_outer(struct deadlock_owner *outer, hf_status status)
{
    struct deadlock_owner *inner = &deadlock_run.owners[outer->client->inner];

    deadlock_check(status == HF_OK, 2, "a wait of the cycle failed otherwise");
    deadlock_begin_inner(outer, inner);
    joined();
}

/* ---------------------------------------------------------- bystanders -- */

static void stand_by(struct deadlock_owner *owner);

/* Wait for a lock of the cycle for a while, and hold nothing besides; or ask
 * somebody to release one, who does not. */
static void stand_by(struct deadlock_owner *owner)
{
    size_t lock = below(deadlock_run.cycle);
    const struct deadlock_lock *wanted = &deadlock_run.locks[lock];
    const struct deadlock_want *asked = deadlock_run.owners[lock].wants;

    if (owner->waiting != NULL)
        return;
    deadlock_release_all(owner);
    if (deadlock_run.stopping)
        return;
    if (below(4) == 0 && asked != NULL && asked->granted && !asked->released)
        deadlock_revoke(owner, asked);
    deadlock_acquire(owner, lock,
                     !wanted->read_write ? HF_TICKET_MUTEX
                     : below(2) == 0     ? HF_TICKET_READ
                                         : HF_TICKET_WRITE,
                     1, 200 + below(4000),
                     wanted->read_write || wanted->limit > 0 || below(3) == 0
                         ? DEADLOCK_LISTED
                         : DEADLOCK_SHARED);
}

void deadlock_cycle_continue(struct deadlock_owner *owner,
                             const struct deadlock_want *want, hf_status status)
{
    if (is_in_cycle(owner)) {
        continue_in_cycle(owner, want, status);
    } else if (owner->client->is_outer) {
        continue_outer(owner, status);
    } else {
        deadlock_check(status != HF_EDEADLK, 1,
                       "a deadlock was reported, and there is none");
        deadlock_plan(owner, below(400), stand_by);
    }
}

/* --------------------------------------------------------- the whole run -- */

/* Those in the cycle come first, each a process or a thread of that before it.
 */
static void start_cycle(uint64_t seed)
{
    for (size_t i = 0; i < deadlock_run.cycle; i++) {
        struct deadlock_owner *owner = deadlock_owner_new(
            i > 0 && below(4) == 0 ? deadlock_run.owners[i - 1].client
                                   : deadlock_client_new(seed));

        owner->detects = below(3) > 0;
    }
    deadlock_run.owners[below(deadlock_run.cycle)].detects = true;
}

/* Each of them joins, or the run around it does. */
static void start_outer(uint64_t seed)
{
    for (size_t i = 0; i < deadlock_run.cycle; i++) {
        struct deadlock_owner *owner = &deadlock_run.owners[i];
        struct deadlock_owner *outer;

        if (owner->client->owners > 1 || below(5) > 0) {
            deadlock_plan(owner, below(1500), join_cycle);
            continue;
        }
        outer = deadlock_owner_new(deadlock_client_new(seed));
        outer->client->is_outer = true;
        outer->client->inner = i;
        outer->detects = below(2) == 0;
        deadlock_plan(outer, below(1500), begin_outer);
        deadlock_run.end->counts.nested++;
    }
}

/* A thread of one in the cycle, or a process. */
static void start_bystanders(uint64_t seed)
{
    size_t count = below(4);

    for (size_t i = 0; i < count && deadlock_run.count < DEADLOCK_OWNERS_MAX;
         i++) {
        struct deadlock_owner *mate =
            &deadlock_run.owners[below(deadlock_run.cycle)];
        bool alone = mate->outer != NULL || below(2) == 0;
        struct deadlock_owner *owner = deadlock_owner_new(
            alone ? deadlock_client_new(seed) : mate->client);

        owner->detects = false;
        deadlock_plan(owner, below(500), stand_by);
    }
}

void deadlock_cycle_start(uint64_t seed)
{
    start_cycle(seed);
    start_outer(seed);
    start_bystanders(seed);
}

/* A deadlock was found and every owner of the cycle got through. */
void deadlock_cycle_check_end(void)
{
    deadlock_check(deadlock_run.end->counts.found == 1 ||
                       (deadlock_run.faults && deadlock_run.has_lost),
                   2, "a deadlock was not found");
    for (size_t i = 0; i < deadlock_run.cycle; i++)
        deadlock_check(deadlock_run.owners[i].finished, 2,
                       "an owner was not granted in the end");
}

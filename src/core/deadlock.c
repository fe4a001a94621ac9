/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reduction, and the shortest cycle in what remains.
 *
 * Each ticket counts the blocked tickets that hold it, so that taking one out
 * costs what it holds.  A queue is walked once: those ahead are decided before
 * those behind, and a queue is looked at again only where it stopped.  So all
 * of it costs what the queues have, whatever they say.
 */
#include "core/deadlock.h"

#include <assert.h>
#include <string.h>

#include "core/ticket_text.h"

/* ---------------------------------------------------------------- rules -- */

bool hf_deadlock_stands_in_way(const struct hf_deadlock_ticket *ahead,
                               const struct hf_deadlock_ticket *ticket)
{
    return ticket->kind != HF_TICKET_READ || ahead->kind != HF_TICKET_READ;
}

/* May a ticket of ${kind} be one that waits?  An election is no wait. */
static bool is_wait(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_MUTEX || kind == HF_TICKET_READ ||
           kind == HF_TICKET_WRITE || kind == HF_TICKET_EXCLUSIVE;
}

/* Is ${ticket} one that cannot go? */
static bool is_stuck(const struct hf_deadlock_ticket *ticket)
{
    return ticket->blocked || ticket->blocked_holders > 0;
}

/* Readers stand in nobody's way but that of writers. */
void hf_deadlock_admit(struct hf_deadlock_queue *queue,
                       enum hf_deadlock_role role)
{
    bool only_readers = true;

    for (size_t i = 0; i < queue->count; i++) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[i];
        bool reads = ticket->kind == HF_TICKET_READ;

        ticket->admitted =
            role == HF_DEADLOCK_LEASES ||
            (role == HF_DEADLOCK_LOCK && (i == 0 || (reads && only_readers)));
        only_readers = only_readers && reads;
    }
}

/* Do the permits that cannot go leave too few for ${ticket}, which is in the
 * entry queue of ${lock}? */
static bool lacks_permits(const struct hf_deadlock_lock *lock,
                          const struct hf_deadlock_ticket *ticket)
{
    return lock->stuck_permits + ticket->permits > ticket->limit;
}

/* ----------------------------------------------------------------- index -- */

/* Call ${visit} for each ticket of ${locks}. */
static void for_each(struct hf_deadlock_locks *locks,
                     void (*visit)(struct hf_deadlock_locks *locks,
                                   struct hf_deadlock_ticket *ticket))
{
    for (size_t i = 0; i < locks->count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue = &locks->locks[i].queues[role];

            for (size_t k = 0; k < queue->count; k++)
                visit(locks, &queue->tickets[k]);
        }
    }
}

struct hf_deadlock_ticket **hf_deadlock_bucket(struct hf_deadlock_locks *locks,
                                               size_t lock, uint32_t id)
{
    uint64_t hash = ((uint64_t)lock << 32 | id) * UINT64_C(0x9E3779B97F4A7C15);

    return &locks->buckets[(hash >> 40) & (HF_DEADLOCK_BUCKETS - 1)];
}

void hf_deadlock_index(struct hf_deadlock_locks *locks)
{
    memset(locks->buckets, 0, sizeof locks->buckets);
    for (size_t i = 0; i < locks->count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue = &locks->locks[i].queues[role];

            hf_deadlock_admit(queue, (enum hf_deadlock_role)role);
            for (size_t k = 0; k < queue->count; k++) {
                struct hf_deadlock_ticket *ticket = &queue->tickets[k];
                struct hf_deadlock_ticket **bucket = hf_deadlock_bucket(
                    locks, i, hf_ticket_text_hold_id(&ticket->id));

                ticket->lock = i;
                ticket->role = (enum hf_deadlock_role)role;
                ticket->index = k;
                ticket->same_hash = *bucket;
                *bucket = ticket;
            }
        }
    }
}

/* The ticket that ${hold} means; NULL if that is not certain.  In a queue
 * called NAME/locks all ids begin alike (ticket.h). */
static struct hf_deadlock_ticket *target_of(struct hf_deadlock_locks *locks,
                                            const struct hf_deadlock_hold *hold)
{
    bool is_lock = !hf_queue_has_roles(locks->locks[hold->lock].name);
    struct hf_deadlock_ticket *found = NULL;
    struct hf_deadlock_ticket *ticket =
        *hf_deadlock_bucket(locks, hold->lock, hold->id);

    for (; ticket != NULL; ticket = ticket->same_hash) {
        if (ticket->lock != hold->lock || !ticket->admitted ||
            hf_ticket_text_hold_id(&ticket->id) != hold->id ||
            (ticket->role == HF_DEADLOCK_LOCK && !is_lock))
            continue;
        if (found != NULL)
            return NULL;
        found = ticket;
    }
    return found;
}

/* ------------------------------------------------------------- reduction -- */

/* Set what is known of ${ticket} by its place alone.  Of the tickets of an
 * entry queue only mutexes are waits, so there are no readers among them. */
static void classify(struct hf_deadlock_locks *locks,
                     struct hf_deadlock_ticket *ticket)
{
    bool entry = ticket->role == HF_DEADLOCK_ENTRY;

    ticket->blocked =
        (ticket->is_ours || (locks->possible && ticket->by_session)) &&
        !ticket->admitted && is_wait(ticket->kind) &&
        (!entry || (ticket->limit > 0 && ticket->kind != HF_TICKET_READ));
    ticket->blocked_holders = 0;
    ticket->holder = NULL;
    ticket->first_ahead = NULL;
    ticket->walk = 0;
    for (size_t i = 0; i < ticket->hold_count; i++)
        ticket->holds[i].target = NULL;
}

/* ${lock} is to be looked at again. */
static void note_change(struct hf_deadlock_locks *locks,
                        struct hf_deadlock_lock *lock)
{
    if (lock->is_changed)
        return;
    lock->is_changed = true;
    lock->next_changed = locks->changed;
    locks->changed = lock;
}

/* All tickets are classified: count ${ticket} at what it holds. */
static void count_holds(struct hf_deadlock_locks *locks,
                        struct hf_deadlock_ticket *ticket)
{
    for (size_t i = 0; ticket->blocked && i < ticket->hold_count; i++) {
        struct hf_deadlock_hold *hold = &ticket->holds[i];
        struct hf_deadlock_ticket *target = target_of(locks, hold);

        hold->target = target;
        if (target != NULL && target->blocked_holders++ == 0 &&
            target->role == HF_DEADLOCK_LEASES)
            locks->locks[target->lock].stuck_permits += target->weight;
    }
}

/* A hold that is only possible does not count. */
static void drop_possible(struct hf_deadlock_locks *locks,
                          struct hf_deadlock_ticket *ticket)
{
    for (size_t i = 0; i < ticket->hold_count; i++) {
        struct hf_deadlock_hold *hold = &ticket->holds[i];
        struct hf_deadlock_ticket *target = hold->target;

        if (!hold->possible || target == NULL)
            continue;
        assert(target->blocked_holders > 0);
        hold->target = NULL;
        if (--target->blocked_holders == 0 &&
            target->role == HF_DEADLOCK_LEASES)
            locks->locks[target->lock].stuck_permits -= target->weight;
    }
}

/* It can go on, and then so can what its owner holds. */
static void unblock(struct hf_deadlock_locks *locks,
                    struct hf_deadlock_ticket *ticket)
{
    assert(ticket->blocked);
    ticket->blocked = false;
    for (size_t i = 0; i < ticket->hold_count; i++) {
        struct hf_deadlock_ticket *target = ticket->holds[i].target;

        if (target == NULL || --target->blocked_holders > 0)
            continue;
        if (target->role == HF_DEADLOCK_LEASES)
            locks->locks[target->lock].stuck_permits -= target->weight;
        note_change(locks, &locks->locks[target->lock]);
    }
}

/* All ahead of ${ticket} that stand in its way can go: can it go, then? */
static bool can_go(struct hf_deadlock_locks *locks,
                   struct hf_deadlock_ticket *ticket)
{
    struct hf_deadlock_lock *lock = &locks->locks[ticket->lock];

    if (ticket->blocked &&
        !(ticket->role == HF_DEADLOCK_ENTRY && lacks_permits(lock, ticket)))
        unblock(locks, ticket);
    return !is_stuck(ticket);
}

/* Unblock each ticket of ${queue} that can go on: those that have nobody ahead
 * in their way.  A ticket is passed once, so all calls together cost what the
 * queue has. */
static void reduce(struct hf_deadlock_locks *locks,
                   struct hf_deadlock_queue *queue)
{
    size_t *first = &queue->first_stuck, *writer = &queue->first_stuck_writer;
    bool moved;

    do {
        moved = false;
        while (*writer < queue->count &&
               (queue->tickets[*writer].kind == HF_TICKET_READ ||
                *writer <= *first || !is_stuck(&queue->tickets[*writer]))) {
            struct hf_deadlock_ticket *ticket = &queue->tickets[*writer];

            if (!can_go(locks, ticket) && ticket->kind != HF_TICKET_READ)
                break;
            ++*writer;
            moved = true;
        }
        while (*first < *writer && can_go(locks, &queue->tickets[*first])) {
            ++*first;
            moved = true;
        }
    } while (moved);
}

static void reduce_all(struct hf_deadlock_locks *locks)
{
    struct hf_deadlock_lock *lock;

    while ((lock = locks->changed) != NULL) {
        locks->changed = lock->next_changed;
        lock->is_changed = false;
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++)
            reduce(locks, &lock->queues[role]);
    }
}

/* All that can go on have been unblocked: note who is first in the way of
 * ${ticket}, and who holds what. */
static void find_first_ahead(struct hf_deadlock_locks *locks,
                             struct hf_deadlock_ticket *ticket)
{
    const struct hf_deadlock_lock *lock = &locks->locks[ticket->lock];
    const struct hf_deadlock_queue *queue = &lock->queues[ticket->role];
    size_t first = ticket->kind == HF_TICKET_READ ? queue->first_stuck_writer
                                                  : queue->first_stuck;

    if (!ticket->blocked)
        return;
    for (size_t i = 0; i < ticket->hold_count; i++) {
        if (ticket->holds[i].target != NULL)
            ticket->holds[i].target->holder = ticket;
    }
    if (first < ticket->index &&
        !(ticket->role == HF_DEADLOCK_ENTRY && lacks_permits(lock, ticket)))
        ticket->first_ahead = &queue->tickets[first];
}

void hf_deadlock_analyse(struct hf_deadlock_locks *locks, bool possible)
{
    locks->changed = NULL;
    locks->possible = possible;
    for (size_t i = 0; i < locks->count; i++) {
        struct hf_deadlock_lock *lock = &locks->locks[i];

        lock->stuck_permits = 0;
        lock->is_changed = false;
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++)
            lock->queues[role].first_stuck =
                lock->queues[role].first_stuck_writer = 0;
    }
    hf_deadlock_index(locks);
    for_each(locks, classify);
    for_each(locks, count_holds);
    if (!possible)
        for_each(locks, drop_possible);
    for (size_t i = 0; i < locks->count; i++)
        note_change(locks, &locks->locks[i]);
    reduce_all(locks);
    for_each(locks, find_first_ahead);
}

/* The one that ${ticket}, which is blocked, waits for.  There is one: without
 * it the reduction would have taken ${ticket} out. */
static struct hf_deadlock_ticket *
waits_for(struct hf_deadlock_locks *locks,
          const struct hf_deadlock_ticket *ticket)
{
    const struct hf_deadlock_queue *leases =
        &locks->locks[ticket->lock].queues[HF_DEADLOCK_LEASES];
    struct hf_deadlock_ticket *ahead = ticket->first_ahead;

    if (ahead != NULL)
        return ahead->blocked ? ahead : ahead->holder;
    return leases->first_stuck < leases->count
               ? leases->tickets[leases->first_stuck].holder
               : NULL;
}

/* A walk that meets itself has found a cycle, and one that meets another walk
 * leads to where that has led. */
struct hf_deadlock_ticket *hf_deadlock_follow(struct hf_deadlock_locks *locks,
                                              struct hf_deadlock_ticket *ticket,
                                              size_t walk)
{
    while (ticket != NULL && ticket->walk == 0) {
        ticket->walk = walk;
        ticket = waits_for(locks, ticket);
    }
    return ticket != NULL && ticket->walk == walk ? ticket : NULL;
}

/* ----------------------------------------------------------------- cycle -- */

/* The tickets that a search has reached, those whose waiters are still to be
 * found at the end. */
struct reached {
    struct hf_deadlock_ticket *first; /* where it began */
    struct hf_deadlock_ticket *last;
    bool closed; /* the first one waits for one that was reached */
};

/* ${waiter}, which is blocked, waits for ${blocker} or for what that has. */
static void reach(struct reached *reached, struct hf_deadlock_ticket *waiter,
                  struct hf_deadlock_ticket *blocker)
{
    if (waiter->waits_for != NULL)
        return;
    waiter->waits_for = blocker;
    if (waiter == reached->first) {
        reached->closed = true;
        return;
    }
    reached->last->next = waiter;
    reached->last = waiter;
}

/* Reach the blocked tickets in whose way ${waiter} is the first.  The others
 * behind it wait for somebody ahead of it too, so it is not ${waiter} that has
 * to go. */
static void reach_behind(struct reached *reached,
                         const struct hf_deadlock_locks *locks,
                         struct hf_deadlock_ticket *waiter)
{
    struct hf_deadlock_queue *queue =
        &locks->locks[waiter->lock].queues[waiter->role];

    if (waiter->index != queue->first_stuck &&
        waiter->index != queue->first_stuck_writer)
        return;
    for (size_t i = waiter->index + 1; i < queue->count; i++) {
        if (queue->tickets[i].first_ahead == waiter)
            reach(reached, &queue->tickets[i], waiter);
    }
}

/* Reach the blocked tickets that wait for ${held}, which ${blocker} holds. */
static void reach_lock(struct reached *reached,
                       const struct hf_deadlock_locks *locks,
                       const struct hf_deadlock_ticket *held,
                       struct hf_deadlock_ticket *blocker)
{
    struct hf_deadlock_queue *queue =
        &locks->locks[held->lock].queues[HF_DEADLOCK_LOCK];

    size_t i = queue->reached_all;

    /* Those from there on were reached before, from this ticket or, if readers
     * hold the lock, from another one of them. */
    while (i > held->index + 1) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[--i];

        if (ticket->blocked && hf_deadlock_stands_in_way(held, ticket))
            reach(reached, ticket, blocker);
    }
    if (i < queue->reached_all)
        queue->reached_all = i;
}

/* Reach the blocked tickets that want permits of ${lock}, of which ${blocker}
 * holds some. */
static void reach_entry(struct reached *reached, struct hf_deadlock_lock *lock,
                        struct hf_deadlock_ticket *blocker)
{
    struct hf_deadlock_queue *entry = &lock->queues[HF_DEADLOCK_ENTRY];

    for (size_t i = 0; i < entry->reached_all; i++) {
        struct hf_deadlock_ticket *ticket = &entry->tickets[i];

        if (ticket->blocked && lacks_permits(lock, ticket))
            reach(reached, ticket, blocker);
    }
    entry->reached_all = 0;
}

/* Reach those that wait for what ${blocker} holds. */
static void reach_holds(struct reached *reached,
                        const struct hf_deadlock_locks *locks,
                        struct hf_deadlock_ticket *blocker)
{
    for (size_t i = 0; i < blocker->hold_count; i++) {
        struct hf_deadlock_ticket *target = blocker->holds[i].target;

        if (target != NULL && target->role == HF_DEADLOCK_LOCK)
            reach_lock(reached, locks, target, blocker);
        else if (target != NULL)
            reach_entry(reached, &locks->locks[target->lock], blocker);
    }
}

static void forget(struct hf_deadlock_locks *locks,
                   struct hf_deadlock_ticket *ticket)
{
    struct hf_deadlock_queue *queue =
        &locks->locks[ticket->lock].queues[ticket->role];

    queue->reached_all = queue->count;
    ticket->waits_for = ticket->next = NULL;
}

/* Backwards and in breadth: from a ticket to those that wait for it. */
bool hf_deadlock_find_cycle(struct hf_deadlock_locks *locks,
                            struct hf_deadlock_ticket *ticket,
                            struct hf_deadlock_cycle *cycle)
{
    struct reached reached = {.first = ticket, .last = ticket};
    struct hf_deadlock_ticket *waiter = ticket;

    for_each(locks, forget);
    for (; waiter != NULL && !reached.closed; waiter = waiter->next) {
        reach_behind(&reached, locks, waiter);
        reach_holds(&reached, locks, waiter);
    }
    cycle->count = 0;
    if (!reached.closed)
        return false;
    waiter = ticket;
    do {
        if (cycle->count == HF_DEADLOCK_CYCLE_MAX)
            return false;
        cycle->waiters[cycle->count++] = waiter;
        waiter = waiter->waits_for;
    } while (waiter != ticket);
    return true;
}

/* Tokens of two locks may be equal; then the ids decide. */
static bool is_later(const struct hf_deadlock_ticket *a,
                     const struct hf_deadlock_ticket *b)
{
    if (a->token != b->token)
        return a->token > b->token;
    return memcmp(&a->id, &b->id, sizeof a->id) > 0;
}

const struct hf_deadlock_ticket *
hf_deadlock_victim(const struct hf_deadlock_cycle *cycle)
{
    const struct hf_deadlock_ticket *victim = NULL;

    for (size_t i = 0; i < cycle->count; i++) {
        const struct hf_deadlock_ticket *waiter = cycle->waiters[i];

        if (waiter->detects && (victim == NULL || is_later(waiter, victim)))
            victim = waiter;
    }
    return victim;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reduction, and the shortest cycle in what remains.
 *
 * Each ticket counts the blocked tickets that hold it, so that taking one out
 * costs what it holds.  A queue is walked once in a pass: those ahead are
 * decided before those behind.
 */
#include "core/deadlock.h"

#include <string.h>

#include "core/ticket_text.h"

/* ---------------------------------------------------------------- rules -- */

/* Does ${ahead} stand in the way of ${ticket}, a ticket of a lock or of an
 * entry queue that is behind it? */
static bool stands_in_way(const struct hf_deadlock_ticket *ahead,
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

/* Does the queue of a lock admit the ticket at ${index}? */
static bool is_admitted(const struct hf_deadlock_queue *queue, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (stands_in_way(&queue->tickets[i], &queue->tickets[index]))
            return false;
    }
    return true;
}

/* The permits of ${lock}, a semaphore, that cannot go. */
static uint64_t stuck_permits(const struct hf_deadlock_lock *lock)
{
    const struct hf_deadlock_queue *leases = &lock->queues[HF_DEADLOCK_LEASES];
    uint64_t permits = 0;

    for (size_t i = 0; i < leases->count; i++) {
        if (is_stuck(&leases->tickets[i]))
            permits += leases->tickets[i].weight;
    }
    return permits;
}

/* Do the permits that cannot go leave too few for ${ticket}, which is in the
 * entry queue of ${lock}? */
static bool lacks_permits(const struct hf_deadlock_lock *lock,
                          const struct hf_deadlock_ticket *ticket)
{
    return stuck_permits(lock) + ticket->permits > ticket->limit;
}

/* Can ${ticket}, which is blocked, go on after all? */
static bool can_go_on(const struct hf_deadlock_lock *lock,
                      const struct hf_deadlock_ticket *ticket)
{
    const struct hf_deadlock_queue *queue = &lock->queues[ticket->role];

    if (ticket->role == HF_DEADLOCK_ENTRY && lacks_permits(lock, ticket))
        return false;
    for (size_t i = 0; i < ticket->index; i++) {
        if (is_stuck(&queue->tickets[i]) &&
            stands_in_way(&queue->tickets[i], ticket))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------- reduction -- */

/* Set what is known of ${ticket} by its place alone. */
static void classify(struct hf_deadlock_lock *lock,
                     struct hf_deadlock_ticket *ticket)
{
    ticket->admitted =
        ticket->role == HF_DEADLOCK_LEASES ||
        (ticket->role == HF_DEADLOCK_LOCK &&
         is_admitted(&lock->queues[HF_DEADLOCK_LOCK], ticket->index));
    ticket->blocked = ticket->is_ours && !ticket->admitted &&
                      is_wait(ticket->kind) &&
                      (ticket->role == HF_DEADLOCK_LOCK || ticket->limit > 0);
    ticket->blocked_holders = 0;
}

/* Add those tickets of ${queue} that ${hold} may mean to ${count}, and return
 * the last one, or ${found}. */
static struct hf_deadlock_ticket *match(struct hf_deadlock_queue *queue,
                                        const struct hf_deadlock_hold *hold,
                                        struct hf_deadlock_ticket *found,
                                        size_t *count)
{
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[i];

        if (ticket->admitted &&
            hf_ticket_text_hold_id(&ticket->id) == hold->id) {
            found = ticket;
            ++*count;
        }
    }
    return found;
}

/* The ticket that ${hold} means; NULL if that is not certain.  In a queue
 * called NAME/locks all ids begin alike (ticket.h). */
static struct hf_deadlock_ticket *
target_of(const struct hf_deadlock_locks *locks,
          const struct hf_deadlock_hold *hold)
{
    struct hf_deadlock_lock *lock = &locks->locks[hold->lock];
    struct hf_deadlock_ticket *found = NULL;
    size_t count = 0;

    if (!hf_queue_has_roles(lock->name))
        found = match(&lock->queues[HF_DEADLOCK_LOCK], hold, found, &count);
    found = match(&lock->queues[HF_DEADLOCK_LEASES], hold, found, &count);
    return count == 1 ? found : NULL;
}

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

static void begin_ticket(struct hf_deadlock_locks *locks,
                         struct hf_deadlock_ticket *ticket)
{
    classify(&locks->locks[ticket->lock], ticket);
}

/* All tickets are classified: count ${ticket} at what it holds. */
static void count_holds(struct hf_deadlock_locks *locks,
                        struct hf_deadlock_ticket *ticket)
{
    for (size_t i = 0; ticket->blocked && i < ticket->hold_count; i++) {
        struct hf_deadlock_hold *hold = &ticket->holds[i];

        hold->target = target_of(locks, hold);
        if (hold->target != NULL)
            hold->target->blocked_holders++;
    }
}

/* It can go on, and then so can what its owner holds. */
static void unblock(struct hf_deadlock_ticket *ticket)
{
    ticket->blocked = false;
    for (size_t i = 0; i < ticket->hold_count; i++) {
        if (ticket->holds[i].target != NULL)
            ticket->holds[i].target->blocked_holders--;
    }
}

/* Unblock each ticket of ${lock} that can go on; true if there was one. */
static bool reduce(struct hf_deadlock_lock *lock)
{
    bool changed = false;

    for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
        struct hf_deadlock_queue *queue = &lock->queues[role];

        for (size_t i = 0; i < queue->count; i++) {
            struct hf_deadlock_ticket *ticket = &queue->tickets[i];

            if (ticket->blocked && can_go_on(lock, ticket)) {
                unblock(ticket);
                changed = true;
            }
        }
    }
    return changed;
}

/* Note where each ticket is. */
static void locate(struct hf_deadlock_locks *locks)
{
    for (size_t i = 0; i < locks->count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue = &locks->locks[i].queues[role];

            for (size_t k = 0; k < queue->count; k++) {
                queue->tickets[k].lock = i;
                queue->tickets[k].role = (enum hf_deadlock_role)role;
                queue->tickets[k].index = k;
            }
        }
    }
}

/* All that can go on have been unblocked: note who is first in the way of
 * ${ticket}. */
static void find_first_ahead(struct hf_deadlock_locks *locks,
                             struct hf_deadlock_ticket *ticket)
{
    const struct hf_deadlock_lock *lock = &locks->locks[ticket->lock];
    const struct hf_deadlock_queue *queue = &lock->queues[ticket->role];

    ticket->first_ahead = NULL;
    if (!ticket->blocked ||
        (ticket->role == HF_DEADLOCK_ENTRY && lacks_permits(lock, ticket)))
        return;
    for (size_t i = 0; i < ticket->index && ticket->first_ahead == NULL; i++) {
        if (is_stuck(&queue->tickets[i]) &&
            stands_in_way(&queue->tickets[i], ticket))
            ticket->first_ahead = &queue->tickets[i];
    }
}

void hf_deadlock_analyse(struct hf_deadlock_locks *locks)
{
    bool changed;

    locate(locks);
    for_each(locks, begin_ticket);
    for_each(locks, count_holds);
    do {
        changed = false;
        for (size_t i = 0; i < locks->count; i++)
            changed |= reduce(&locks->locks[i]);
    } while (changed);
    for_each(locks, find_first_ahead);
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

    for (size_t i = held->index + 1; i < queue->count; i++) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[i];

        if (ticket->blocked && stands_in_way(held, ticket))
            reach(reached, ticket, blocker);
    }
}

/* Reach the blocked tickets that want permits of ${lock}, of which ${blocker}
 * holds some. */
static void reach_entry(struct reached *reached, struct hf_deadlock_lock *lock,
                        struct hf_deadlock_ticket *blocker)
{
    struct hf_deadlock_queue *entry = &lock->queues[HF_DEADLOCK_ENTRY];

    for (size_t i = 0; i < entry->count; i++) {
        struct hf_deadlock_ticket *ticket = &entry->tickets[i];

        if (ticket->blocked && lacks_permits(lock, ticket))
            reach(reached, ticket, blocker);
    }
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
    (void)locks;
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
        if (cycle->count == HF_DEADLOCK_QUEUES_MAX)
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reduction, and the shortest cycle in what remains.
 *
 * Each ticket counts the blocked tickets that hold it, so a ticket is taken out
 * in the time that a walk over its holds takes.  A queue is walked from the
 * head to the tail, and later only from where the walk stopped.  So the time
 * grows with the number of tickets and holds, whatever the tickets say.
 */
#include "core/deadlock.h"

#include <assert.h>
#include <string.h>

#include "core/ticket_text.h"

/* ---------------------------------------------------------------- rules -- */

/* May a ticket of ${kind} be one that waits?  An election is no wait. */
static bool is_wait(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_MUTEX || kind == HF_TICKET_READ ||
           kind == HF_TICKET_WRITE || kind == HF_TICKET_EXCLUSIVE;
}

static bool is_blocked(const struct hf_deadlock_ticket *ticket)
{
    return ticket->state == HF_DEADLOCK_BLOCKED;
}

/* Is ${ticket} one that cannot go? */
static bool is_stuck(const struct hf_deadlock_ticket *ticket)
{
    return is_blocked(ticket) || ticket->blocked_holders > 0;
}

/* Is ${ticket} in an entry queue, and do the permits that cannot go leave too
 * few for it? */
static bool lacks_permits(const struct hf_deadlock_graph *graph,
                          const struct hf_deadlock_ticket *ticket)
{
    uint64_t stuck = graph->locks[ticket->lock].stuck_permits;

    return ticket->role == HF_DEADLOCK_ENTRY &&
           stuck + ticket->permits > ticket->limit;
}

/* The ticket that ${hold} means; NULL if that is not certain.  In a queue
 * called NAME/locks all ids begin alike (ticket.h). */
static struct hf_deadlock_ticket *target_of(struct hf_deadlock_graph *graph,
                                            const struct hf_deadlock_hold *hold)
{
    bool is_lock = !hf_queue_has_roles(graph->locks[hold->lock].name);
    struct hf_deadlock_ticket *found = NULL;
    struct hf_deadlock_ticket *ticket =
        hf_deadlock_first_like(graph, hold->lock, hold->id);

    for (; ticket != NULL; ticket = hf_deadlock_next_like(ticket)) {
        if (ticket->state != HF_DEADLOCK_ADMITTED ||
            (ticket->role == HF_DEADLOCK_LOCK && !is_lock))
            continue;
        if (found != NULL)
            return NULL;
        found = ticket;
    }
    return found;
}

/* ------------------------------------------------------------- reduction -- */

/* A reduction under way. */
struct reduction {
    struct hf_deadlock_graph *graph;
    struct hf_deadlock_lock *changed; /* those to look at again */
};

/* Set what is known of ${ticket} by its place alone; ${possible}: what is only
 * possible counts too.  A reader in an entry queue is of another kind of lock,
 * and does not count as blocked. */
static void classify(struct hf_deadlock_ticket *ticket, bool possible)
{
    bool entry = ticket->role == HF_DEADLOCK_ENTRY;
    bool is_known = ticket->owner == HF_DEADLOCK_OURS ||
                    (possible && ticket->owner == HF_DEADLOCK_SESSION);

    assert(ticket->state != HF_DEADLOCK_BLOCKED);
    if (is_known && ticket->state == HF_DEADLOCK_WAITS &&
        is_wait(ticket->kind) &&
        (!entry || (ticket->limit > 0 && ticket->kind != HF_TICKET_READ)))
        ticket->state = HF_DEADLOCK_BLOCKED;
    ticket->blocked_holders = 0;
    ticket->holder = NULL;
    ticket->first_ahead = NULL;
    ticket->walk = 0;
    for (size_t i = 0; i < ticket->hold_count; i++)
        ticket->holds[i].target = NULL;
}

/* ${lock} is to be looked at again. */
static void note_change(struct reduction *reduction,
                        struct hf_deadlock_lock *lock)
{
    if (lock->is_changed)
        return;
    lock->is_changed = true;
    lock->next_changed = reduction->changed;
    reduction->changed = lock;
}

/* All tickets are classified: if ${ticket} is blocked, count it in
 * .blocked_holders of each ticket that it holds. */
static void count_holds(struct hf_deadlock_graph *graph,
                        struct hf_deadlock_ticket *ticket)
{
    for (size_t i = 0; is_blocked(ticket) && i < ticket->hold_count; i++) {
        struct hf_deadlock_hold *hold = &ticket->holds[i];
        struct hf_deadlock_ticket *target = target_of(graph, hold);

        hold->target = target;
        if (target != NULL && target->blocked_holders++ == 0 &&
            target->role == HF_DEADLOCK_LEASES)
            graph->locks[target->lock].stuck_permits += target->weight;
    }
}

/* One of the blocked tickets that hold ${target} no longer counts, because it
 * is blocked no more or its hold is only possible.  True: it was the last one.
 */
static bool let_go(struct hf_deadlock_graph *graph,
                   struct hf_deadlock_ticket *target)
{
    struct hf_deadlock_lock *lock = &graph->locks[target->lock];

    assert(target->blocked_holders > 0);
    if (--target->blocked_holders > 0)
        return false;
    if (target->role == HF_DEADLOCK_LEASES) {
        assert(lock->stuck_permits >= target->weight);
        lock->stuck_permits -= target->weight;
    }
    return true;
}

/* Take out the holds of ${ticket} that are only possible. */
static void drop_possible(struct hf_deadlock_graph *graph,
                          struct hf_deadlock_ticket *ticket)
{
    for (size_t i = 0; i < ticket->hold_count; i++) {
        struct hf_deadlock_hold *hold = &ticket->holds[i];

        if (!hold->possible || hold->target == NULL)
            continue;
        (void)let_go(graph, hold->target);
        hold->target = NULL;
    }
}

/* ${ticket} can go on, so it keeps nothing of what its owner holds.  Each lock
 * in which this lets a ticket go is to be looked at again. */
static void unblock(struct reduction *reduction,
                    struct hf_deadlock_ticket *ticket)
{
    assert(is_blocked(ticket));
    ticket->state = HF_DEADLOCK_WAITS;
    for (size_t i = 0; i < ticket->hold_count; i++) {
        struct hf_deadlock_ticket *target = ticket->holds[i].target;

        if (target != NULL && let_go(reduction->graph, target))
            note_change(reduction, &reduction->graph->locks[target->lock]);
    }
}

/* All ahead of ${ticket} that stand in its way can go: unblock it if it has its
 * permits.  True: it can go itself. */
static bool can_go(struct reduction *reduction,
                   struct hf_deadlock_ticket *ticket)
{
    if (is_blocked(ticket) && !lacks_permits(reduction->graph, ticket))
        unblock(reduction, ticket);
    return !is_stuck(ticket);
}

/* Unblock each ticket of ${queue} that can go on, because nothing that cannot
 * go is ahead in its way.  Each of the two indexes passes a ticket once, so all
 * calls together take the time of two walks over the queue. */
static void reduce(struct reduction *reduction, struct hf_deadlock_queue *queue)
{
    size_t *first = &queue->first_stuck, *writer = &queue->first_stuck_writer;
    bool moved;

    do {
        moved = false;
        while (*writer < queue->count &&
               (queue->tickets[*writer].kind == HF_TICKET_READ ||
                *writer <= *first || !is_stuck(&queue->tickets[*writer]))) {
            struct hf_deadlock_ticket *ticket = &queue->tickets[*writer];

            if (!can_go(reduction, ticket) && ticket->kind != HF_TICKET_READ)
                break;
            ++*writer;
            moved = true;
        }
        while (*first < *writer && can_go(reduction, &queue->tickets[*first])) {
            ++*first;
            moved = true;
        }
    } while (moved);
}

/* Look at all locks, and again at each that has changed. */
static void reduce_all(struct hf_deadlock_graph *graph)
{
    struct reduction reduction = {.graph = graph};
    struct hf_deadlock_lock *lock;

    for (size_t i = 0; i < graph->count; i++) {
        assert(!graph->locks[i].is_changed);
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue = &graph->locks[i].queues[role];

            queue->first_stuck = queue->first_stuck_writer = 0;
        }
        note_change(&reduction, &graph->locks[i]);
    }
    while ((lock = reduction.changed) != NULL) {
        reduction.changed = lock->next_changed;
        lock->is_changed = false;
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++)
            reduce(&reduction, &lock->queues[role]);
    }
}

/* All that can go on have been unblocked: note who is first in the way of
 * ${ticket}, which is blocked, and who holds what. */
static void find_first_ahead(struct hf_deadlock_graph *graph,
                             struct hf_deadlock_ticket *ticket)
{
    const struct hf_deadlock_queue *queue = hf_deadlock_queue_of(graph, ticket);
    size_t first = ticket->kind == HF_TICKET_READ ? queue->first_stuck_writer
                                                  : queue->first_stuck;

    for (size_t i = 0; i < ticket->hold_count; i++) {
        if (ticket->holds[i].target != NULL)
            ticket->holds[i].target->holder = ticket;
    }
    if (first < ticket->index && !lacks_permits(graph, ticket))
        ticket->first_ahead = &queue->tickets[first];
}

void hf_deadlock_analyse(struct hf_deadlock_graph *graph, bool possible)
{
    struct hf_deadlock_ticket *ticket;

    hf_deadlock_index_all(graph);
    for (size_t i = 0; i < graph->count; i++)
        graph->locks[i].stuck_permits = 0;
    FOR_EACH_TICKET (ticket, graph)
        classify(ticket, possible);
    FOR_EACH_TICKET (ticket, graph)
        count_holds(graph, ticket);
    if (!possible)
        FOR_EACH_TICKET (ticket, graph)
            drop_possible(graph, ticket);
    reduce_all(graph);
    FOR_EACH_TICKET (ticket, graph)
        if (is_blocked(ticket))
            find_first_ahead(graph, ticket);
}

/* ----------------------------------------------------------------- walks -- */

/* The ticket that ${ticket}, which is blocked, waits for.  NULL: none, because
 * it asks for more permits than its semaphore has. */
static struct hf_deadlock_ticket *
waits_for(struct hf_deadlock_graph *graph,
          const struct hf_deadlock_ticket *ticket)
{
    const struct hf_deadlock_queue *leases =
        &graph->locks[ticket->lock].queues[HF_DEADLOCK_LEASES];
    struct hf_deadlock_ticket *ahead = ticket->first_ahead;

    if (ahead != NULL)
        return is_blocked(ahead) ? ahead : ahead->holder;
    return leases->first_stuck < leases->count
               ? leases->tickets[leases->first_stuck].holder
               : NULL;
}

/* A walk that meets itself has found a cycle, and one that meets another walk
 * leads to where that has led. */
struct hf_deadlock_ticket *hf_deadlock_follow(struct hf_deadlock_graph *graph,
                                              struct hf_deadlock_ticket *ticket,
                                              size_t walk)
{
    while (ticket != NULL && ticket->walk == 0) {
        ticket->walk = walk;
        ticket = waits_for(graph, ticket);
    }
    return ticket != NULL && ticket->walk == walk ? ticket : NULL;
}

/* ----------------------------------------------------------------- cycle -- */

/* The tickets that a search has reached, linked by .next in that order.  For
 * those behind the one that is looked at, the waiters are still to be found. */
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
                         const struct hf_deadlock_graph *graph,
                         struct hf_deadlock_ticket *waiter)
{
    struct hf_deadlock_queue *queue = hf_deadlock_queue_of(graph, waiter);

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
                       const struct hf_deadlock_graph *graph,
                       const struct hf_deadlock_ticket *held,
                       struct hf_deadlock_ticket *blocker)
{
    struct hf_deadlock_queue *queue =
        &graph->locks[held->lock].queues[HF_DEADLOCK_LOCK];

    size_t i = queue->reached_from;

    /* The tickets from index ${i} on were reached before, from this ticket or,
     * if readers hold the lock, from another reader. */
    while (i > held->index + 1) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[--i];

        if (is_blocked(ticket) && hf_deadlock_stands_in_way(held, ticket))
            reach(reached, ticket, blocker);
    }
    if (i < queue->reached_from)
        queue->reached_from = i;
}

/* Reach the blocked tickets that want permits of the semaphore of ${held}, of
 * which ${blocker} holds some. */
static void reach_entry(struct reached *reached,
                        const struct hf_deadlock_graph *graph,
                        const struct hf_deadlock_ticket *held,
                        struct hf_deadlock_ticket *blocker)
{
    struct hf_deadlock_queue *entry =
        &graph->locks[held->lock].queues[HF_DEADLOCK_ENTRY];

    for (size_t i = 0; i < entry->reached_from; i++) {
        struct hf_deadlock_ticket *ticket = &entry->tickets[i];

        if (is_blocked(ticket) && lacks_permits(graph, ticket))
            reach(reached, ticket, blocker);
    }
    entry->reached_from = 0;
}

/* Reach those that wait for what ${blocker} holds. */
static void reach_holds(struct reached *reached,
                        const struct hf_deadlock_graph *graph,
                        struct hf_deadlock_ticket *blocker)
{
    for (size_t i = 0; i < blocker->hold_count; i++) {
        struct hf_deadlock_ticket *target = blocker->holds[i].target;

        if (target != NULL && target->role == HF_DEADLOCK_LOCK)
            reach_lock(reached, graph, target, blocker);
        else if (target != NULL)
            reach_entry(reached, graph, target, blocker);
    }
}

/* Backwards and in breadth: from a ticket to those that wait for it. */
bool hf_deadlock_find_cycle(struct hf_deadlock_graph *graph,
                            struct hf_deadlock_ticket *ticket,
                            struct hf_deadlock_cycle *cycle)
{
    struct reached reached = {.first = ticket, .last = ticket};
    struct hf_deadlock_ticket *waiter;

    assert(is_blocked(ticket));
    FOR_EACH_TICKET (waiter, graph) {
        struct hf_deadlock_queue *queue = hf_deadlock_queue_of(graph, waiter);

        queue->reached_from = queue->count;
        waiter->waits_for = waiter->next = NULL;
    }
    waiter = ticket;
    for (; waiter != NULL && !reached.closed; waiter = waiter->next) {
        reach_behind(&reached, graph, waiter);
        reach_holds(&reached, graph, waiter);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom in truth: from the committed queues, which no client can
 * read, and from what the owners hold, and not from what tickets say.
 *
 * All that wait count as blocked at first.  One that would be granted if all
 * owners that are not blocked released everything can go on, and is taken out,
 * until nothing changes.  What remains is a deadlock: the definition, and
 * written without the code that it checks (core/deadlock.c).
 */
#include <assert.h>
#include <stdlib.h>

#include "core/deadlock_detection.h"
#include "simulator/random/deadlock_private.h"

#define WAITS_MAX 128

enum view {
    IN_TRUTH,
    /* Those count as waiting too that have given up, or go on in another
     * session, although their ticket is still there, and as holding what that
     * says: nobody else can know better. */
    WITH_REMAINS,
    /* Only what tickets say of their owners. */
    AS_SAID
};

struct wait {
    struct deadlock_want *want;
    bool blocked;
};

static struct {
    enum view view;
    struct wait waits[WAITS_MAX];
    size_t count;
} graph;

/* -------------------------------------------------------------- tickets -- */

static bool says_hold(const struct deadlock_want *want,
                      const struct hf_ticket_id *ticket)
{
    for (size_t i = 0; i < want->said.count; i++) {
        if (hf_ticket_id_equal(&want->said.holds[i].ticket, ticket))
            return true;
    }
    return false;
}

/* Does ${owner}, or one around it, hold a lock by ${ticket}? */
static bool holds(const struct deadlock_owner *owner,
                  const struct hf_ticket_id *ticket)
{
    for (; owner != NULL; owner = owner->outer) {
        for (const struct deadlock_want *w = owner->wants; w != NULL;
             w = w->next) {
            if (deadlock_is_held(w) &&
                hf_ticket_id_equal(deadlock_ticket_of(w), ticket))
                return true;
        }
    }
    return false;
}

/* The cohort that ${want} waits in; NULL: none. */
static const struct deadlock_cohort *cohort_of(const struct deadlock_want *want)
{
    return want->way == DEADLOCK_SHARED
               ? &want->owner->client->cohorts[want->lock]
               : NULL;
}

/* The ticket that ${want} waits by. */
static const struct hf_ticket_id *ticket_of_wait(const struct deadlock_want *w)
{
    return cohort_of(w) != NULL ? &cohort_of(w)->ticket : &w->tickets[0];
}

/* Is the ticket that ${want} waits by held, for another owner? */
static bool is_held_for_other(const struct deadlock_want *want)
{
    const struct deadlock_cohort *shared = cohort_of(want);

    return shared != NULL && shared->cohort.ticket != NULL &&
           shared->cohort.ticket->state == HF_ACQUISITION_HELD;
}

/* Does the owner of ${wait} hold a lock by ${ticket}? */
static bool is_holder(const struct wait *wait,
                      const struct hf_ticket_id *ticket)
{
    if (graph.view != IN_TRUTH && says_hold(wait->want, ticket))
        return true;
    return graph.view != AS_SAID && !wait->want->gave_up &&
           holds(wait->want->owner, ticket);
}

/* Is ${ticket} held by a blocked owner? */
static bool is_held_by_blocked(const struct hf_ticket_id *ticket)
{
    for (size_t i = 0; i < graph.count; i++) {
        if (graph.waits[i].blocked && is_holder(&graph.waits[i], ticket))
            return true;
    }
    return false;
}

/* Does ${ticket} stay in its queue as long as those that are blocked wait? */
static bool is_stuck(const struct hf_ticket_id *ticket)
{
    for (size_t i = 0; i < graph.count; i++) {
        const struct wait *wait = &graph.waits[i];

        if (wait->blocked && !is_held_for_other(wait->want) &&
            hf_ticket_id_equal(ticket_of_wait(wait->want), ticket))
            return true;
    }
    return is_held_by_blocked(ticket);
}

/* ------------------------------------------------------------- reduction -- */

/* Do blocked owners leave too few permits for ${want}? */
static bool lacks_permits(const struct deadlock_want *want)
{
    const struct deadlock_lock *lock = &deadlock_run.locks[want->lock];
    struct hf_snapshot leases = hf_sim_queue(deadlock_run.sim, lock->leases);
    uint32_t stuck = 0;

    for (size_t i = 0; i < leases.count; i++) {
        if (is_held_by_blocked(&leases.tickets[i].id))
            stuck += leases.tickets[i].weight;
    }
    return stuck + want->permits > lock->limit;
}

/* Is something in front of the ticket of ${want} that stays there?  Not if it
 * has no ticket: its place is not known yet. */
static bool is_behind_stuck(const struct deadlock_want *want, const char *queue)
{
    struct hf_snapshot snapshot = hf_sim_queue(deadlock_run.sim, queue);
    bool found = false;

    for (size_t i = 0; i < snapshot.count; i++) {
        const struct hf_ticket *ticket = &snapshot.tickets[i];

        if (hf_ticket_id_equal(&ticket->id, ticket_of_wait(want)))
            return found;
        if ((want->a.kind != HF_TICKET_READ ||
             ticket->kind != HF_TICKET_READ) &&
            is_stuck(&ticket->id))
            found = true;
    }
    return false;
}

static bool is_in_queue(const struct deadlock_want *want, const char *queue)
{
    struct hf_snapshot snapshot = hf_sim_queue(deadlock_run.sim, queue);

    for (size_t i = 0; i < snapshot.count; i++) {
        if (hf_ticket_id_equal(&snapshot.tickets[i].id, ticket_of_wait(want)))
            return true;
    }
    return false;
}

static bool is_blocked(const struct deadlock_want *want)
{
    const struct deadlock_lock *lock = &deadlock_run.locks[want->lock];

    if (is_held_for_other(want))
        return is_held_by_blocked(&cohort_of(want)->ticket);
    if (lock->limit == 0)
        return is_behind_stuck(want, lock->name);
    return is_in_queue(want, lock->entry) &&
           (lacks_permits(want) || is_behind_stuck(want, lock->entry));
}

/* Does ${want} count as waiting? */
static bool is_wait(const struct deadlock_want *want)
{
    if (want->gave_up)
        return graph.view == WITH_REMAINS;
    return want == want->owner->waiting &&
           (graph.view != AS_SAID || cohort_of(want) == NULL);
}

/* Add those of the list ${wants}. */
static void add_list(struct deadlock_want *wants)
{
    for (struct deadlock_want *w = wants; w != NULL; w = w->next) {
        if (!is_wait(w))
            continue;
        assert(graph.count < WAITS_MAX);
        graph.waits[graph.count++] = (struct wait){w, true};
    }
}

static void add_waits(enum view view)
{
    graph.view = view;
    graph.count = 0;
    for (size_t i = 0; i < deadlock_run.count; i++)
        add_list(deadlock_run.owners[i].wants);
    add_list(deadlock_run.remains);
}

static void reduce(void)
{
    bool changed;

    do {
        changed = false;
        for (size_t i = 0; i < graph.count; i++) {
            struct wait *wait = &graph.waits[i];

            if (wait->blocked && !is_blocked(wait->want)) {
                wait->blocked = false;
                changed = true;
            }
        }
    } while (changed);
}

/* --------------------------------------------------------------- remains -- */

void deadlock_truth_keep(const struct deadlock_want *want)
{
    struct deadlock_want *copy;

    if (!deadlock_run.faults || cohort_of(want) != NULL || want->granted ||
        !hf_sim_ticket_exists(deadlock_run.sim, ticket_of_wait(want)))
        return;
    copy = calloc(1, sizeof *copy);
    if (copy == NULL)
        abort();
    copy->owner = want->owner;
    copy->lock = want->lock;
    copy->way = want->way;
    copy->permits = want->permits;
    copy->a.kind = want->a.kind;
    copy->said = want->said;
    copy->tickets[0] = want->tickets[0];
    copy->gave_up = true;
    copy->next = deadlock_run.remains;
    deadlock_run.remains = copy;
}

void deadlock_truth_free(bool all)
{
    struct deadlock_want **link = &deadlock_run.remains;
    struct deadlock_want *copy;

    while ((copy = *link) != NULL) {
        if (all ||
            !hf_sim_ticket_exists(deadlock_run.sim, ticket_of_wait(copy))) {
            *link = copy->next;
            free(copy);
        } else {
            link = &copy->next;
        }
    }
}

/* --------------------------------------------------------------- answers -- */

/* Note the beginnings and ends of looks; is one under way?  A look whose
 * verdict has ended the wait counts until the owner is notified. */
static bool note_looks(void)
{
    bool found = false;

    for (size_t i = 0; i < deadlock_run.count; i++) {
        struct deadlock_want *w = deadlock_run.owners[i].waiting;
        bool looks;

        if (w == NULL || w->a.detection == NULL ||
            w->a.state != HF_ACQUISITION_WAITING)
            continue;
        looks = w->a.detection->search != NULL;
        if (looks && !w->looks)
            w->was_blocked = w->was_blocked_by_remains = false;
        w->looks = looks;
        found |= looks;
    }
    return found;
}

void deadlock_truth_note(void)
{
    if (!note_looks())
        return;
    add_waits(IN_TRUTH);
    reduce();
    for (size_t i = 0; i < graph.count; i++)
        graph.waits[i].want->was_blocked |= graph.waits[i].blocked;
    if (!deadlock_run.faults)
        return;
    deadlock_truth_free(false);
    add_waits(WITH_REMAINS);
    reduce();
    for (size_t i = 0; i < graph.count; i++)
        graph.waits[i].want->was_blocked_by_remains |= graph.waits[i].blocked;
}

/* The lock of ${want} and those that it says are held are looked at. */
static void add_locks(const struct deadlock_want *want,
                      bool locks[DEADLOCK_LOCKS])
{
    locks[want->lock] = true;
    for (size_t i = 0; i < want->said.count; i++)
        locks[want->said.holds[i].lock] = true;
}

/* Begin with those waits as blocked that a search from ${want} finds: in the
 * queues of what it holds, then of what the waiters there hold, and so on.  All
 * others count as able to go on. */
static void begin_search(const struct deadlock_want *want)
{
    bool locks[DEADLOCK_LOCKS] = {false};
    bool changed = true;

    add_waits(AS_SAID);
    for (size_t i = 0; i < graph.count; i++)
        graph.waits[i].blocked = false;
    add_locks(want, locks);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < graph.count; i++) {
            struct wait *wait = &graph.waits[i];

            if (wait->blocked || !locks[wait->want->lock])
                continue;
            wait->blocked = changed = true;
            add_locks(wait->want, locks);
        }
    }
}

/* Is ${want} in a deadlock of those, and would it be free if only it went on?
 * That is not so if it waits behind a cycle of others. */
static bool is_in_cycle(const struct deadlock_want *want)
{
    begin_search(want);
    reduce();
    for (size_t i = 0; i < graph.count; i++) {
        if (graph.waits[i].want == want && !graph.waits[i].blocked)
            return false;
    }
    begin_search(want);
    for (size_t i = 0; i < graph.count; i++)
        graph.waits[i].blocked &= graph.waits[i].want != want;
    reduce();
    return !is_blocked(want);
}

bool deadlock_truth_has_unfound(void)
{
    for (size_t i = 0; i < deadlock_run.count; i++) {
        const struct deadlock_want *w = deadlock_run.owners[i].waiting;

        if (w != NULL && w->a.detection != NULL && w->said.count > 0 &&
            is_in_cycle(w))
            return true;
    }
    return false;
}

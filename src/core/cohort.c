/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ticket and the waiters notify the cohort in the middle of a step.  As in
 * a multi-lock this is only noted, and worked off when the step ends (pump()).
 * A loss and a request to release are passed on at once: the loss has to be,
 * because LOST precedes every other effect of a step.
 */
#include "core/cohort.h"

#include <assert.h>
#include <stddef.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "core/core_state.h"

#define STATE(name) HF_ACQUISITION_##name

/* The order of the tree of waiters: ${number} is that of an ACQUIRE. */
static int compare(const void *number, const struct hf_tree_node *node)
{
    const struct hf_acquisition *a =
        container_of(node, const struct hf_acquisition, waiter.waiting);
    uint64_t x = *(const uint64_t *)number;
    uint64_t y = a->entry.number;

    return (x > y) - (x < y);
}

void hf_cohort_init(struct hf_cohort *cohort, const char *queue,
                    uint32_t handoffs, uint64_t keep_ms)
{
    *cohort = (struct hf_cohort){.queue = queue,
                                 .handoffs = handoffs,
                                 .keep_ms = keep_ms,
                                 .waiting = {.compare = compare}};
}

/* Is no ticket of the cohort in use? */
static bool tickets_can_be_freed(const struct hf_cohort *cohort)
{
    for (size_t i = 0; i < HF_COHORT_TICKETS; i++) {
        const struct hf_cohort_ticket *ticket = cohort->tickets[i];

        if (ticket != NULL &&
            !hf_acquisition_can_be_freed(&ticket->acquisition))
            return false;
    }
    return true;
}

void hf_cohort_free(struct hf_core *core, struct hf_cohort *cohort)
{
    for (size_t i = 0; i < HF_COHORT_TICKETS; i++) {
        struct hf_cohort_ticket *ticket = cohort->tickets[i];

        if (ticket == NULL)
            continue;
        hf_acquisition_free(core, &ticket->acquisition);
        hf_shared_text_clear(&core->holders, &ticket->payload);
        hf_free(ticket);
        cohort->tickets[i] = NULL;
    }
}

bool hf_cohort_is_idle(const struct hf_cohort *cohort)
{
    return !cohort->in_use && !cohort->deferred.queued;
}

/* Does any waiter hold the ticket or wait for it? */
static bool is_needed(const struct hf_cohort *cohort)
{
    return cohort->holder != NULL || cohort->waiters.first != NULL;
}

/* -------------------------------------------------------------- waiters -- */

/* ${a} waits: the list has the order, the tree the rank. */
static void begin_wait(struct hf_cohort *cohort, struct hf_acquisition *a)
{
    HF_LIST_APPEND(&cohort->waiters, a);
    hf_tree_add(&cohort->waiting, &a->waiter.waiting, &a->entry.number);
}

static void end_wait(struct hf_cohort *cohort, struct hf_acquisition *a)
{
    HF_LIST_REMOVE(&cohort->waiters, a);
    hf_tree_remove(&cohort->waiting, &a->waiter.waiting, &a->entry.number);
}

void hf_cohort_touch(struct hf_core *core, struct hf_cohort *cohort)
{
    hf_deferred_call_add(&core->deferred, &cohort->deferred);
}

/* Set .ahead and .holder of ${a}, which is WAITING.  False if nothing is known
 * to be ahead: no waiter holds the ticket, and it was not seen behind others.
 */
static bool set_position(struct hf_core *core, struct hf_acquisition *a)
{
    const struct hf_cohort *cohort = a->waiter.cohort;
    const struct hf_acquisition *ticket = cohort->ticket;
    bool queued = ticket != NULL && hf_acquisition_is_behind(ticket);

    if (cohort->holder == NULL && !queued)
        return false;
    hf_acquisition_set_holder(core, a,
                              queued ? hf_shared_text_get(ticket->holder)
                                     : cohort->holder->payload);
    a->ahead = (queued ? ticket->ahead : 1) +
               (uint32_t)hf_tree_rank(&cohort->waiting, &a->entry.number);
    return true;
}

static void run_deferred(struct hf_core *core,
                         struct hf_deferred_call *deferred);

/* A waiter comes.  A try ends at once if another waiter holds or waits. */
static void begin(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_cohort *cohort = a->waiter.cohort;
    bool is_taken = is_needed(cohort);
    struct hf_error why;

    assert(a->kind == HF_TICKET_MUTEX && hf_acquisition_is_of_user(a));
    hf_schedule_enter(core, &a->entry, &hf_acquisition_schedule_ops);
    cohort->count++;
    if (!cohort->in_use)
        HF_LIST_APPEND(&core->cohorts, cohort);
    cohort->in_use = true;
    cohort->deferred.run = run_deferred;
    if (cohort->tickets[0] == NULL)
        cohort->tickets[0] = hf_alloc(sizeof *cohort->tickets[0]);
    begin_wait(cohort, a);
    hf_cohort_touch(core, cohort);
    if (cohort->tickets[0] == NULL) {
        hf_error_set(&why, HF_ENOMEM, "no memory for a ticket");
        hf_acquisition_give_up(core, a, &why);
    } else if (a->only_try && is_taken) {
        (void)set_position(core, a);
        hf_acquisition_end_busy(core, a);
    }
}

/* A waiter stops waiting or holding.  Its end is reported when the step ends
 * or, if the ticket is removed then, when the end of the ticket is. */
static void leave(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_cohort *cohort = a->waiter.cohort;

    if (a == cohort->holder)
        cohort->holder = NULL;
    else if (a->state == STATE(WAITING))
        end_wait(cohort, a);
    HF_LIST_APPEND(&cohort->leaving, a);
    a->waiter.awaited_ticket = NULL;
    hf_cohort_touch(core, cohort);
}

/* A waiter is DONE. */
static void finish(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_cohort *cohort = a->waiter.cohort;

    HF_LIST_REMOVE(&cohort->leaving, a);
    cohort->count--;
    hf_cohort_touch(core, cohort);
}

/* -------------------------------------------------- the end of a waiter -- */

/* As long as another waiter needs a ticket, or it is kept, one that has left
 * may go.  After that those that have left stay until the tickets can be freed:
 * the user then knows that nothing of them is left at the engine. */
static bool may_finish(const struct hf_acquisition *a)
{
    const struct hf_cohort *cohort = a->waiter.cohort;

    return is_needed(cohort) || cohort->kept_until_ms != 0 ||
           tickets_can_be_freed(cohort);
}

/* The status of the release of a waiter: that of the ticket if it was removed,
 * else HF_OK, because the ticket stays for the next waiter. */
static hf_status release_status(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->waiter.awaited_ticket == NULL)
        return HF_OK; /* the ticket stays, for the next waiter */
    hf_acquisition_set_text(core, a,
                            hf_acquisition_text(a->waiter.awaited_ticket));
    return a->waiter.awaited_ticket->status;
}

/* ----------------------------------------------- the cohort as listener -- */

/* The waiter that is HELD on ${ticket}; NULL: none. */
static struct hf_acquisition *holder_on(const struct hf_acquisition *ticket)
{
    const struct hf_cohort *cohort = ticket->cohort;
    struct hf_acquisition *holder = cohort->holder;

    return ticket == cohort->ticket && holder != NULL &&
                   holder->state == STATE(HELD)
               ? holder
               : NULL;
}

/* The ticket is lost, and its holder with it.  The waiters go on with another
 * ticket. */
static void ticket_lost(struct hf_core *core, struct hf_acquisition *ticket)
{
    struct hf_acquisition *holder = holder_on(ticket);

    if (holder != NULL) {
        hf_acquisition_lose(core, holder, false, hf_acquisition_text(ticket));
        ticket->cohort->holder = NULL;
    }
    hf_cohort_touch(core, ticket->cohort);
}

/* The ticket waits behind others: the waiters have a position. */
static void ticket_waiting(struct hf_core *core, struct hf_acquisition *ticket)
{
    ticket->cohort->was_behind |= hf_acquisition_is_behind(ticket);
    hf_cohort_touch(core, ticket->cohort);
}

/* Somebody asks for the release of the ticket: pass it on to the holder, if
 * there is one. */
static void ticket_revoked(struct hf_core *core, struct hf_acquisition *ticket)
{
    struct hf_acquisition *holder = holder_on(ticket);

    ticket->cohort->revoked = true;
    if (holder != NULL)
        holder->listener->revoked(core, holder);
    hf_cohort_touch(core, ticket->cohort);
}

/* Another ticket is in the queue. */
static void ticket_contended(struct hf_core *core,
                             struct hf_acquisition *ticket)
{
    ticket->cohort->contended = true;
    hf_cohort_touch(core, ticket->cohort);
}

void hf_cohort_touch_waiters(struct hf_core *core, struct hf_cohort *cohort)
{
    for (struct hf_acquisition *a = cohort->waiters.first; a != NULL;
         a = a->next) {
        hf_core_count_visit(core);
        hf_schedule_touch(core, &a->entry);
    }
}

/* ---------------------------------------------------- the end of a step -- */

void hf_cohort_give_up(struct hf_core *core, struct hf_cohort *cohort,
                       const struct hf_error *why)
{
    for (struct hf_acquisition *a = cohort->waiters.first, *next; a != NULL;
         a = next) {
        next = a->next;
        hf_core_count_visit(core);
        hf_acquisition_give_up(core, a, why);
    }
}

/* The ticket is being removed.  Waiters that have left, and whose end was not
 * reported yet, end when it is gone. */
static void await_ticket(const struct hf_core *core, struct hf_cohort *cohort)
{
    for (struct hf_acquisition *a = cohort->leaving.first; a != NULL;
         a = a->next) {
        hf_core_count_visit(core);
        if (a->state != STATE(DRAINING) && a->waiter.awaited_ticket == NULL)
            a->waiter.awaited_ticket = cohort->ticket;
    }
    cohort->ticket = NULL;
}

/* See whether the ticket was lost, or its wait has ended by itself.  In the
 * latter case every waiter ends with its error. */
static void check_ticket(struct hf_core *core, struct hf_cohort *cohort)
{
    struct hf_acquisition *ticket = cohort->ticket;
    struct hf_error why;

    if (ticket == NULL)
        return;
    if (ticket->state == STATE(LOST)) {
        hf_acquisition_release(core, ticket);
        cohort->ticket = NULL;
    } else if (hf_acquisition_has_ended(ticket)) {
        hf_error_set(&why, ticket->status, "%s", hf_acquisition_text(ticket));
        hf_cohort_give_up(core, cohort, &why);
        await_ticket(core, cohort);
    }
}

/* End a try that would have to wait.  Only the first waiter can be a try: a
 * later one has ended in begin(). */
static void end_try(struct hf_core *core, struct hf_cohort *cohort)
{
    struct hf_acquisition *a = cohort->waiters.first;

    if (!cohort->was_behind || a == NULL || !a->only_try ||
        cohort->holder != NULL)
        return;
    if (cohort->ticket == NULL || !hf_acquisition_is_queued(cohort->ticket))
        return;
    hf_acquisition_set_holder(core, a,
                              hf_shared_text_get(cohort->ticket->holder));
    hf_acquisition_end_busy(core, a);
}

/* Remove the ticket: no waiter needs it, or it served often enough. */
static void remove_ticket(struct hf_core *core, struct hf_cohort *cohort)
{
    struct hf_acquisition *ticket = cohort->ticket;
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "nobody waits for it any more");
    if (ticket->state == STATE(HELD))
        hf_acquisition_release(core, ticket);
    else
        hf_acquisition_give_up(core, ticket, &why);
    await_ticket(core, cohort);
}

/* Does the ticket, which nobody needs, stay?  Only while its queue is watched.
 * One that had to wait for others is not kept, because these are likely to come
 * again and would wait for the list that shows them. */
static bool can_be_kept(const struct hf_core *core,
                        const struct hf_cohort *cohort)
{
    const struct hf_acquisition *ticket = cohort->ticket;

    assert(!is_needed(cohort));
    if (cohort->keep_ms == 0 || ticket->state != STATE(HELD) ||
        cohort->was_behind || cohort->revoked || cohort->contended ||
        core->session.closing)
        return false;
    if (cohort->kept_until_ms != 0 && core->now_ms >= cohort->kept_until_ms)
        return false;
    return hf_own_ticket_watch_queue(ticket->tickets.current);
}

/* Is the ticket to be removed, because no waiter needs it and it is not kept,
 * because it was handed on .handoffs times and others may wait, or because
 * others do wait or ask for its release? */
static bool must_remove_ticket(const struct hf_core *core,
                               const struct hf_cohort *cohort)
{
    const struct hf_acquisition *ticket = cohort->ticket;

    if (ticket == NULL || cohort->holder != NULL)
        return false;
    if (cohort->waiters.first == NULL)
        return !can_be_kept(core, cohort);
    if (ticket->state != STATE(HELD) || cohort->grants == 0)
        return false;
    return cohort->revoked || cohort->contended ||
           (cohort->grants > cohort->handoffs &&
            !hf_own_ticket_held(ticket->tickets.current)->watches_queue);
}

/* Note until when the ticket is kept, if it is.  When that begins, the watch of
 * its queue is requested. */
static void note_kept(struct hf_core *core, struct hf_cohort *cohort)
{
    bool was_kept = cohort->kept_until_ms != 0;
    bool is_kept = cohort->ticket != NULL && !is_needed(cohort);

    if (is_kept && !was_kept)
        cohort->kept_until_ms = hf_after_ms(core->now_ms, cohort->keep_ms);
    if (is_kept && !was_kept)
        hf_acquisition_pump(core, cohort->ticket);
    else if (!is_kept)
        cohort->kept_until_ms = 0;
}

/* Hand the ticket to the first waiter, if nobody holds it, the session may
 * admit and, after an outage, a list has shown the ticket. */
static void grant(struct hf_core *core, struct hf_cohort *cohort)
{
    struct hf_acquisition *ticket = cohort->ticket;
    struct hf_acquisition *a = cohort->waiters.first;

    if (a == NULL || ticket == NULL || ticket->state != STATE(HELD) ||
        cohort->holder != NULL ||
        !hf_session_may_admit(&core->session, core->now_ms) ||
        !hf_own_ticket_confirm(core, ticket->tickets.current))
        return;
    end_wait(cohort, a);
    cohort->holder = a;
    cohort->grants++;
    a->ticket_id = ticket->ticket_id;
    a->token = ticket->token;
    a->session = ticket->session;
    hf_acquisition_grant(core, a, cohort->revoked); /* before this grant */
}

/* Report the ends that are due. */
static void finish_leaving(struct hf_core *core, struct hf_cohort *cohort)
{
    for (struct hf_acquisition *a = cohort->leaving.first, *next; a != NULL;
         a = next) {
        next = a->next;
        hf_core_count_visit(core);
        hf_acquisition_finish(core, a);
    }
}

/* A ticket that can be used again; NULL: none.  When one becomes free it
 * notifies the cohort. */
static struct hf_cohort_ticket *unused_ticket(struct hf_cohort *cohort)
{
    for (size_t i = 0; i < HF_COHORT_TICKETS; i++) {
        struct hf_cohort_ticket **ticket = &cohort->tickets[i];

        if (*ticket == NULL)
            *ticket = hf_alloc(sizeof **ticket);
        if (*ticket != NULL &&
            hf_acquisition_can_be_freed(&(*ticket)->acquisition))
            return *ticket;
    }
    return NULL;
}

static void ticket_changed(struct hf_core *core, struct hf_acquisition *ticket)
{
    hf_cohort_touch(core, ticket->cohort);
}

static void ticket_ended(struct hf_core *core, struct hf_acquisition *ticket,
                         enum hf_effect_kind how)
{
    (void)how;
    hf_cohort_touch(core, ticket->cohort);
}

/* Between two holders nobody relies on the ticket. */
static bool ticket_is_relied_on(const struct hf_acquisition *ticket)
{
    return ticket->cohort->holder != NULL;
}

/* Then it is handed on once it is proven. */
static bool ticket_awaits_proof(const struct hf_acquisition *ticket)
{
    return ticket->cohort->holder == NULL &&
           ticket->cohort->waiters.first != NULL;
}

static uint64_t ticket_held_until_ms(const struct hf_acquisition *ticket)
{
    const struct hf_cohort *cohort = ticket->cohort;

    return cohort->kept_until_ms != 0 ? cohort->kept_until_ms : HF_FOREVER;
}

const struct hf_acquisition_listener hf_acquisition_cohort_listener = {
    .has_deadlines = true, /* those of the waiters */
    .waiting = ticket_waiting,
    .granted = ticket_changed,
    .revoked = ticket_revoked,
    .lost = ticket_lost,
    .ended = ticket_ended,
    .done = ticket_changed,
    .changed = ticket_changed,
    .is_relied_on = ticket_is_relied_on,
    .awaits_proof = ticket_awaits_proof,
    .proven = ticket_changed,
    .held_until_ms = ticket_held_until_ms,
    .contended = ticket_contended,
};

/* Acquire a ticket for the waiters, if there is none.  Its payload is that of
 * the first waiter. */
static void enqueue_ticket(struct hf_core *core, struct hf_cohort *cohort)
{
    struct hf_cohort_ticket *ticket;

    if (cohort->ticket != NULL || cohort->waiters.first == NULL ||
        (ticket = unused_ticket(cohort)) == NULL)
        return;
    (void)hf_shared_text_set(&core->holders, &ticket->payload,
                             cohort->waiters.first->payload);
    cohort->ticket = &ticket->acquisition;
    hf_acquisition_free(core, cohort->ticket);
    *cohort->ticket = (struct hf_acquisition){
        .queue = cohort->queue,
        .payload = hf_shared_text_get(ticket->payload),
        .kind = HF_TICKET_MUTEX,
        .deadline_at_ms = HF_FOREVER,
        .cohort = cohort,
        .ops = &hf_acquisition_ticket_ops,
        .listener = &hf_acquisition_cohort_listener,
    };
    cohort->grants = 0;
    cohort->revoked = cohort->contended = cohort->was_behind = false;
    hf_acquisition_start(core, cohort->ticket);
}

/* Bring the ticket and the waiters in line with each other, at the end of a
 * step. */
static void pump(struct hf_core *core, struct hf_cohort *cohort)
{
    check_ticket(core, cohort);
    end_try(core, cohort);
    if (must_remove_ticket(core, cohort))
        remove_ticket(core, cohort);
    note_kept(core, cohort);
    grant(core, cohort);
    finish_leaving(core, cohort); /* before the ticket they await is reused */
    enqueue_ticket(core, cohort);
    if (cohort->ticket != NULL) /* its holder may have changed */
        hf_schedule_touch(core, &cohort->ticket->entry);
}

/* The deferred call of a cohort.  One that is not used any more has no tickets.
 */
static void run_deferred(struct hf_core *core,
                         struct hf_deferred_call *deferred)
{
    struct hf_cohort *cohort =
        container_of(deferred, struct hf_cohort, deferred);

    pump(core, cohort);
    if (!cohort->in_use || cohort->count > 0 || !tickets_can_be_freed(cohort))
        return;
    assert(cohort->ticket == NULL);
    cohort->in_use = false;
    HF_LIST_REMOVE(&core->cohorts, cohort);
    hf_cohort_free(core, cohort);
}

/* ------------------------------------------- a waiter as an acquisition -- */

static void pump_waiter(struct hf_core *core, struct hf_acquisition *a)
{
    hf_cohort_touch(core, a->waiter.cohort);
}

static bool must_wait(const struct hf_acquisition *a)
{
    return a->waiter.awaited_ticket != NULL &&
           a->waiter.awaited_ticket->state < STATE(DRAINING);
}

static bool may_remain(const struct hf_acquisition *a)
{
    return a->waiter.awaited_ticket != NULL &&
           a->waiter.awaited_ticket->ops->may_remain(a->waiter.awaited_ticket);
}

static bool position(struct hf_core *core, struct hf_acquisition *a,
                     const struct hf_acquisition **waits_by)
{
    *waits_by = a->waiter.cohort->ticket != NULL ? a->waiter.cohort->ticket : a;
    return set_position(core, a);
}

const struct hf_acquisition_ops hf_acquisition_cohort_ops = {
    .begin = begin,
    .pump = pump_waiter,
    .leave = leave,
    .must_wait = must_wait,
    .may_remain = may_remain,
    .release_status = release_status,
    .may_finish = may_finish,
    .finish = finish,
    .position = position,
};

/* ----------------------------------------------------------- invariants -- */

void hf_cohort_check(const struct hf_core *core, const struct hf_cohort *cohort)
{
    const struct hf_acquisition *previous = NULL;
    const struct hf_acquisition *holder = cohort->holder;
    size_t count = holder != NULL, waiting = 0;

    assert(!cohort->deferred.queued);
    if (holder != NULL) {
        hf_acquisition_check(core, holder);
        assert(holder->state == STATE(HELD));
        assert(cohort->ticket->state == STATE(HELD));
        assert(holder->token == cohort->ticket->token);
    }
    for (const struct hf_acquisition *a = cohort->waiters.first; a != NULL;
         a = a->next) {
        assert(a->previous == previous && a->state == STATE(WAITING));
        assert(hf_tree_rank(&cohort->waiting, &a->entry.number) == waiting);
        waiting++;
        hf_acquisition_check(core, a);
        previous = a;
        count++;
    }
    assert(cohort->waiters.last == previous);
    for (const struct hf_acquisition *a = cohort->leaving.first; a != NULL;
         a = a->next) {
        assert(a->state >= STATE(RELEASING) && a->state < STATE(DONE));
        assert(a->next != NULL || cohort->leaving.last == a);
        hf_schedule_check_entry(core, &a->entry);
        count++;
    }
    assert(cohort->count >= count); /* others are LOST and not released */
    assert(cohort->in_use);
    assert(cohort->count > 0 || !tickets_can_be_freed(cohort));
    assert((cohort->kept_until_ms != 0) ==
           (cohort->ticket != NULL && !is_needed(cohort)));
    assert(cohort->kept_until_ms == 0 ||
           hf_own_ticket_wants_queue_watch(cohort->ticket->tickets.current));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition that takes tickets of its own, one after the other, until one
 * of them is admitted.  This file is the listener of the tickets: it decides
 * when to try again with another ticket, and reports to the listener of the
 * acquisition.  Earlier tickets are removed meanwhile.
 */
#include "core/acquisition.h"

#include <assert.h>

#include "base/error.h"
#include "base/time_math.h"
#include "core/core_state.h"

#define STATE(name) HF_ACQUISITION_##name

/* ---------------------------------------------------------- its tickets -- */

/* Can ${ticket} be in the queue, or appear there? */
static bool may_exist(const struct hf_own_ticket *ticket)
{
    return ticket != NULL && ticket->state != HF_OWN_TICKET_UNQUEUED &&
           ticket->state != HF_OWN_TICKET_GONE;
}

/* Move the current ticket to the end of the earlier ones.  It is freed there
 * once the engine has nothing of it. */
static void move_to_earlier(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket **link = &a->tickets.earlier;

    assert(a->tickets.current->state >= HF_OWN_TICKET_REMOVING);
    while (*link != NULL)
        link = &(*link)->next;
    *link = a->tickets.current;
    a->tickets.current = NULL;
    hf_schedule_touch(core, &a->entry);
}

/* Free the earlier tickets of which the engine has nothing. */
static void free_done_tickets(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket **link = &a->tickets.earlier, *done;

    while ((done = *link) != NULL) {
        if (!hf_own_ticket_can_be_freed(done)) {
            link = &done->next;
            continue;
        }
        *link = done->next;
        hf_ticket_table_remove(&core->tickets, done);
        hf_own_ticket_free(done);
    }
}

/* The acquisition is DONE: take its tickets out of the table of the client.
 * They may live on until the engine has returned from an UNWATCH. */
static void remove_from_table(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->tickets.current != NULL)
        hf_ticket_table_remove(&core->tickets, a->tickets.current);
    FOR_EACH_EARLIER (a, ticket)
        hf_ticket_table_remove(&core->tickets, ticket);
}

/* ------------------------------------------------ its turn to enqueue -- */

/* May it enqueue another ticket, given the earlier ones under removal? */
static bool can_enqueue(const struct hf_acquisition *a)
{
    unsigned count = 0;

    FOR_EACH_EARLIER (a, ticket)
        count += ticket->state == HF_OWN_TICKET_REMOVING;
    return count < HF_EARLIER_TICKETS_MAX;
}

/* Should ${a} stand in line for its queue (enqueue_order.h)?  A lease does not,
 * because only the holder of the entry mutex wants one. */
static bool wants_ticket(const struct hf_acquisition *a)
{
    if (a->kind == HF_TICKET_LEASE || a->state != STATE(WAITING))
        return false;
    if (a->tickets.current == NULL)
        return can_enqueue(a);
    return a->tickets.current->state < HF_OWN_TICKET_QUEUED;
}

/* -------------------------------------------------- all of its tickets -- */

/* Is every ticket GONE, with no answer outstanding? */
static bool all_finished(const struct hf_acquisition *a)
{
    bool finished = a->tickets.current == NULL ||
                    hf_own_ticket_is_finished(a->tickets.current);

    FOR_EACH_EARLIER (a, ticket)
        finished &= hf_own_ticket_is_finished(ticket);
    return finished;
}

/* ---------------------------------------- reports of the current ticket -- */

/* The current ticket is in the queue: a lost position is counted, and the
 * backoff of enqueues begins anew. */
static void ticket_queued(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_acquisition *a = ticket->acquisition;

    assert(a->state == STATE(WAITING) && ticket == a->tickets.current);
    hf_acquisition_count_displaced(a);
    if (a->listener->queued != NULL)
        a->listener->queued(a);
    a->tickets.enqueue_retry = (struct hf_retry_state){0};
    hf_enqueue_order_queued(core, &a->tickets.turn);
}

static void ticket_position_changed(struct hf_core *core,
                                    struct hf_own_ticket *ticket, size_t ahead,
                                    const char *holder)
{
    assert(ticket == ticket->acquisition->tickets.current);
    ticket->acquisition->ahead = (uint32_t)ahead;
    if (holder != NULL)
        hf_acquisition_set_holder(core, ticket->acquisition, holder);
}

/* A try ends instead of waiting. */
static bool ticket_may_wait(struct hf_core *core, struct hf_own_ticket *ticket)
{
    assert(ticket->acquisition->state == STATE(WAITING));
    if (ticket->acquisition->only_try)
        hf_acquisition_end_busy(core, ticket->acquisition);
    return !ticket->acquisition->only_try;
}

static void ticket_waiting(struct hf_core *core, struct hf_own_ticket *ticket)
{
    assert(ticket->acquisition->state == STATE(WAITING));
    ticket->acquisition->listener->waiting(core, ticket->acquisition);
}

/* The ticket is HELD, so the acquisition is. */
static void ticket_granted(struct hf_core *core, struct hf_own_ticket *ticket,
                           bool revoked)
{
    struct hf_acquisition *a = ticket->acquisition;

    assert(ticket == a->tickets.current && ticket->state == HF_OWN_TICKET_HELD);
    a->ticket_id = ticket->id;
    a->token = ticket->token;
    a->generation = ticket->generation;
    a->session = ticket->session;
    hf_acquisition_grant(core, a, revoked);
}

static void ticket_revoked(struct hf_core *core, struct hf_own_ticket *ticket)
{
    assert(ticket->acquisition->state == STATE(HELD));
    ticket->acquisition->listener->revoked(core, ticket->acquisition);
}

/* Only a cohort has its ticket watch the queue. */
static void ticket_contended(struct hf_core *core, struct hf_own_ticket *ticket)
{
    ticket->acquisition->listener->contended(core, ticket->acquisition);
}

static void ticket_lost(struct hf_core *core, struct hf_own_ticket *ticket,
                        bool lives, const char *why)
{
    assert(ticket == ticket->acquisition->tickets.current &&
           ticket->state == HF_OWN_TICKET_HELD);
    hf_acquisition_lose(core, ticket->acquisition, lives, why);
}

/* Somebody has removed the ticket.  Enqueue another one at the tail, but no
 * sooner than a retry would, because somebody may go on removing our tickets.
 */
static void ticket_evicted(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_acquisition *a = ticket->acquisition;
    struct hf_retry_state *enqueues = &a->tickets.enqueue_retry;

    assert(a->state == STATE(WAITING) && ticket == a->tickets.current);
    hf_acquisition_lose_position(a);
    hf_own_ticket_cancel_question(core, ticket);
    if (ticket->state == HF_OWN_TICKET_QUEUED)
        hf_own_ticket_move(core, ticket, HF_OWN_TICKET_GONE);
    move_to_earlier(core, a);
    if (enqueues->tries == 0)
        enqueues->first_at_ms = core->now_ms;
    a->tickets.enqueue_at_ms = hf_core_retry_at_ms(core, &enqueues->tries);
}

/* An enqueue has failed with ${why}: end the current ticket, if there is one,
 * as ${end} says, and schedule the next enqueue by the retry policy.  A failure
 * without a connection does not count, because the outage caused it and not the
 * engine.  Without another retry the wait ends with ${why}. */
static void retry(struct hf_core *core, struct hf_acquisition *a,
                  const struct hf_error *why, enum hf_own_ticket_end end)
{
    uint64_t at_ms = core->now_ms;

    assert(a->state == STATE(WAITING));
    hf_acquisition_set_error(core, a, why); /* if the wait ends meanwhile */
    hf_enqueue_order_failed(core, &a->tickets.turn);
    /* Without a connection the next enqueue waits for it, and not for a time.
     */
    if (core->session.state == HF_STATE_CONNECTED) {
        at_ms = hf_retry_next(&core->config.retry, &a->tickets.enqueue_retry,
                              core->now_ms, &core->config.random);
        at_ms = hf_max_ms(at_ms, hf_after_ms(core->now_ms, 1));
    }
    if (a->tickets.current != NULL) {
        hf_own_ticket_end(core, a->tickets.current, end);
        move_to_earlier(core, a);
    }
    a->tickets.enqueue_at_ms = at_ms;
    if (at_ms == HF_FOREVER)
        hf_acquisition_give_up(core, a, why);
}

/* The status and the message are kept: if the retry policy allows no further
 * try, the wait ends with them. */
static void ticket_unsure(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_error *why)
{
    /* Should no retry be left, this is what the wait ends with. */
    assert(ticket->acquisition->state == STATE(WAITING));
    hf_acquisition_set_error(core, ticket->acquisition, why);
}

static void ticket_search_failed(struct hf_core *core,
                                 struct hf_own_ticket *ticket)
{
    assert(ticket->state == HF_OWN_TICKET_UNSURE);
    hf_enqueue_order_failed(core, &ticket->acquisition->tickets.turn);
}

/* The enqueue failed, or the search for its ticket did not find it: then ${why}
 * is NULL, and the reason is what ticket_unsure() has kept. */
static void ticket_failed(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_error *why,
                          enum hf_own_ticket_end end)
{
    struct hf_acquisition *a = ticket->acquisition;
    struct hf_error kept;

    if (why == NULL) {
        hf_error_set(&kept, a->status, "%s", hf_acquisition_text(a));
        why = &kept;
    }
    retry(core, a, why, end);
}

static void ticket_refused(struct hf_core *core, struct hf_own_ticket *ticket,
                           const struct hf_error *why)
{
    hf_acquisition_give_up(core, ticket->acquisition, why);
}

/* The wait was given up, and the ENQUEUE got no answer: the ticket is removed
 * as an earlier one.  The report of the end waits for the answer to the first
 * REMOVE.  It does not wait until the ticket can appear no longer, unless the
 * acquisition waits for removal. */
static void ticket_unanswered(struct hf_core *core,
                              struct hf_own_ticket *ticket)
{
    hf_own_ticket_cancel_question(core, ticket);
    hf_own_ticket_remove_unanswered(core, ticket, true);
    move_to_earlier(core, ticket->acquisition);
}

/* The engine refuses to remove ${ticket}.  The end is reported with that error
 * if it waits for this removal. */
static void ticket_not_removed(struct hf_core *core,
                               struct hf_own_ticket *ticket,
                               const struct hf_error *why)
{
    struct hf_acquisition *a = ticket->acquisition;
    bool is_relevant =
        ticket == a->tickets.current || hf_acquisition_waits_for_removal(a);
    bool says_so =
        (a->state == STATE(RELEASING) && a->status == HF_OK) ||
        (a->state == STATE(GIVING_UP) && hf_acquisition_waits_for_removal(a));

    (void)hf_shared_text_set(&core->messages, &a->tickets.removal_denied,
                             why->text);
    if (is_relevant && says_so)
        hf_acquisition_set_error(core, a, why);
}

/* ------------------------------------------------------------ downgrade -- */

/* A writer becomes a reader, at its position.  The request is repeated until it
 * is answered: an engine that has done it answers so again.  Meanwhile the
 * ticket is not watched, because it may disappear under one name and be there
 * under another; when the answer has come, a new watch shows whether it is
 * still there. */
void hf_acquisition_downgrade(struct hf_core *core, struct hf_acquisition *a)
{
    /* The grant may have expired in this step. */
    assert(a->state == STATE(HELD) || a->state == STATE(LOST));
    assert(a->kind == HF_TICKET_WRITE);
    assert(!a->tickets.downgrading && hf_acquisition_is_of_user(a));
    a->tickets.downgrading = true;
    if (a->state == STATE(HELD))
        hf_own_ticket_downgrade(a->tickets.current);
    hf_acquisition_pump(core, a);
}

/* Report the end of the downgrade to the user. */
static void notify_downgrade(struct hf_core *core, struct hf_acquisition *a,
                             hf_status status)
{
    assert(a->tickets.downgrading && hf_acquisition_is_of_user(a));
    a->tickets.downgrading = false;
    a->user.downgrade_status = status;
    hf_effect_add(&core->effects, &a->user.waiting, HF_EFFECT_DOWNGRADED);
}

/* End a downgrade that is under way when the acquisition is HELD no more.
 * Called from a pump or at the end of the session, and not at the loss, because
 * all losses of an event are reported first. */
static void end_downgrade(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->tickets.downgrading && a->state != STATE(HELD));
    hf_own_ticket_cancel_question(core, a->tickets.current);
    notify_downgrade(core, a,
                     a->state == STATE(LOST) ? HF_ELOST : HF_ECANCELLED);
}

/* The answer to the downgrade; NULL: the ticket is a reader's now.  HF_EUNSURE:
 * it may be, and the owner counts as a reader too. */
static void ticket_downgraded(struct hf_core *core,
                              struct hf_own_ticket *ticket,
                              const struct hf_error *why)
{
    struct hf_acquisition *a = ticket->acquisition;

    if (why != NULL)
        hf_acquisition_set_error(core, a, why);
    if (why == NULL || why->status == HF_EUNSURE)
        a->kind = HF_TICKET_READ;
    notify_downgrade(core, a, why != NULL ? why->status : HF_OK);
}

static const struct hf_ticket_listener ticket_listener = {
    .queued = ticket_queued,
    .position_changed = ticket_position_changed,
    .may_wait = ticket_may_wait,
    .waiting = ticket_waiting,
    .granted = ticket_granted,
    .revoked = ticket_revoked,
    .lost = ticket_lost,
    .evicted = ticket_evicted,
    .unsure = ticket_unsure,
    .search_failed = ticket_search_failed,
    .failed = ticket_failed,
    .refused = ticket_refused,
    .downgraded = ticket_downgraded,
    .unanswered = ticket_unanswered,
    .contended = ticket_contended,
    .not_removed = ticket_not_removed,
    .changed = hf_acquisition_pump,
};

/* ---------------------------------------------------------- another try -- */

/* The entry mutex in front of ${a}; NULL: ${a} is no lease, or has none. */
static const struct hf_acquisition *entry_mutex(const struct hf_acquisition *a)
{
    return a->kind == HF_TICKET_LEASE && a->listener->entry_mutex != NULL
               ? a->listener->entry_mutex(a)
               : NULL;
}

/* See that there is a current ticket.  False if there is no memory for one: the
 * enqueue is then retried later by the policy, as if the engine had no room. */
static bool make_ticket(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_ticket_spec spec = {
        .queue = a->queue,
        .payload = &a->payload,
        .kind = a->kind,
        .role = a->entry_mutex ? HF_ROLE_ENTRY : HF_ROLE_LOCK,
        .weight = a->weight,
        .limit = a->limit,
        .report_every_ms = a->report_every_ms,
    };
    const struct hf_acquisition *mutex = entry_mutex(a);
    struct hf_own_ticket *ticket = a->tickets.current;
    struct hf_error why;

    if (ticket != NULL)
        return true;
    if (mutex != NULL)
        spec.entry_mutex = mutex->tickets.current->id;
    ticket = hf_own_ticket_new(&spec, &ticket_listener);
    if (ticket == NULL) {
        hf_error_set(&why, HF_ENOMEM, "no memory for a ticket");
        retry(core, a, &why, HF_OWN_TICKET_NOT_CREATED);
        return false;
    }
    ticket->acquisition = a;
    ticket->entry = &a->entry;
    a->tickets.current = ticket;
    return true;
}

/* WAITING, without a ticket or with one that is UNQUEUED, and the session is
 * usable: enqueue a ticket if it is time and its turn.  A lease is enqueued
 * only once a list has shown room for it, because every ticket in its queue
 * counts as held.  If its entry mutex was lost in this step, the parent rolls
 * back at the end of the step. */
static void pump_enqueue(struct hf_core *core, struct hf_acquisition *a)
{
    const struct hf_acquisition *mutex = entry_mutex(a);

    assert(a->state == STATE(WAITING));
    if (mutex != NULL && mutex->state != STATE(HELD))
        return;
    if (core->now_ms < a->tickets.enqueue_at_ms || !can_enqueue(a) ||
        hf_enqueue_order_before(core, &a->tickets.turn) != NULL ||
        !make_ticket(core, a) ||
        !hf_own_ticket_unqueued(a->tickets.current)->has_room)
        return;
    hf_own_ticket_enqueue(core, a->tickets.current);
    hf_enqueue_order_asked(core, &a->tickets.turn);
}

/* Do what is due: enqueue, end a downgrade, pump every ticket, free those that
 * are done. */
static void pump(struct hf_core *core, struct hf_acquisition *a)
{
    bool usable = hf_session_usable(&core->session);

    if (a->listener->changed != NULL)
        a->listener->changed(core, a);
    a->tickets.pumped_ms = core->now_ms;
    /* An earlier ticket may be GONE, which makes room for another one. */
    hf_enqueue_order_update(core, &a->tickets.turn, wants_ticket(a));
    if (usable && a->state == STATE(WAITING) &&
        (a->tickets.current == NULL ||
         a->tickets.current->state == HF_OWN_TICKET_UNQUEUED))
        pump_enqueue(core, a);
    if (a->tickets.downgrading && a->state != STATE(HELD))
        end_downgrade(core, a);
    if (a->tickets.current != NULL)
        hf_own_ticket_pump(core, a->tickets.current, usable);
    FOR_EACH_EARLIER (a, ticket)
        hf_own_ticket_pump(core, ticket, usable);
    free_done_tickets(core, a);
    hf_acquisition_finish(core, a);
}

/* -------------------------------------------------------------- the end -- */

static void begin(struct hf_core *core, struct hf_acquisition *a)
{
    hf_schedule_enter(core, &a->entry, &hf_acquisition_schedule_ops);
    hf_acquisition_link(core, a);
}

/* The wait ends, or the release begins: remove the current ticket.  After a
 * loss that has begun already, or the ticket is gone. */
static void leave(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state >= STATE(WAITING) && a->state <= STATE(LOST));
    if (a->tickets.current == NULL || a->state == STATE(LOST))
        return;
    if (a->tickets.current->state == HF_OWN_TICKET_UNSURE)
        ticket_unanswered(core, a->tickets.current);
    else
        hf_own_ticket_remove(core, a->tickets.current);
}

static bool may_remain(const struct hf_acquisition *a)
{
    bool may = may_exist(a->tickets.current);

    FOR_EACH_EARLIER (a, ticket)
        may |= may_exist(ticket);
    return may;
}

bool hf_acquisition_awaits_removal(const struct hf_acquisition *a)
{
    bool awaits;

    assert(a->ops->takes_tickets);
    awaits = a->tickets.current != NULL &&
             hf_own_ticket_awaits_removal(a->tickets.current);

    FOR_EACH_EARLIER (a, ticket)
        awaits |= hf_own_ticket_awaits_removal(ticket);
    return awaits;
}

/* The end of a wait is reported after the removals that are under way.  The end
 * of a release is reported when the current ticket cannot be in the queue; if
 * the acquisition waits for removal, either end when none of its tickets can be
 * there.  HF_EDENIED ends the last two waits: the ticket stays. */
static bool must_wait(const struct hf_acquisition *a)
{
    assert(a->state == STATE(RELEASING) || a->state == STATE(GIVING_UP));
    if (a->state == STATE(GIVING_UP) && !hf_acquisition_waits_for_removal(a))
        return hf_acquisition_awaits_removal(a);
    if (a->status == HF_EDENIED)
        return false;
    return hf_acquisition_waits_for_removal(a) ? may_remain(a)
                                               : may_exist(a->tickets.current);
}

/* Invariant 13: HF_OK only if an answer confirmed the removal of our own
 * ticket.  Otherwise the ticket may have been gone, and somebody else admitted,
 * before the release. */
static hf_status release_status(struct hf_core *core, struct hf_acquisition *a)
{
    const struct hf_removal *removal =
        hf_own_ticket_removal(a->tickets.current);
    struct hf_error why;

    assert(a->state == STATE(RELEASING) && removal->state != HF_REMOVAL_ASKED);
    if (removal->found)
        return HF_OK;
    hf_error_set(&why, HF_ELOST,
                 "the engine did not confirm that this release removed the "
                 "ticket; somebody else may have been admitted before it");
    hf_acquisition_set_error(core, a, &why);
    return HF_ELOST;
}

static void finish(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == STATE(DONE) && all_finished(a));
    remove_from_table(core, a);
    hf_acquisition_unlink(core, a);
}

static bool position(struct hf_core *core, struct hf_acquisition *a,
                     const struct hf_acquisition **waits_by)
{
    (void)core;
    *waits_by = a;
    return false;
}

/* -------------------------------------------------------------- session -- */

/* A new connection begins the backoff anew, because an outage is no failure of
 * the engine, nor is an answer that was lost in it.  It ends the pipelining,
 * because the queue need not take tickets as before: its node may have been
 * deleted meanwhile. */
static void connected(struct hf_core *core, struct hf_acquisition *a)
{
    assert(core->session.state == HF_STATE_CONNECTED);
    a->tickets.enqueue_retry = (struct hf_retry_state){0};
    a->tickets.turn.may_pipeline = false;
    if (a->tickets.current != NULL)
        hf_own_ticket_connected(core, a->tickets.current);
}

/* Invariant 9: an acquisition that waits goes on with another ticket in the
 * next session. */
static void session_over(struct hf_core *core, struct hf_acquisition *a)
{
    bool waiting = a->state == STATE(WAITING);

    assert(a->state != STATE(HELD)); /* its loss was reported first */
    if (waiting && hf_acquisition_is_queued(a))
        hf_acquisition_lose_position(a);
    if (a->tickets.current != NULL)
        hf_own_ticket_session_over(core, a->tickets.current);
    FOR_EACH_EARLIER (a, ticket)
        hf_own_ticket_session_over(core, ticket);
    if (a->tickets.downgrading)
        end_downgrade(core, a);
    if (waiting && a->tickets.current != NULL) {
        a->tickets.enqueue_at_ms = 0;
        move_to_earlier(core, a);
    }
    free_done_tickets(core, a);
    a->tickets.turn.may_pipeline = false;
    /* Another ticket is possible. */
    hf_enqueue_order_update(core, &a->tickets.turn, wants_ticket(a));
}

static const struct hf_acquisition *behind(const struct hf_acquisition *a)
{
    return hf_acquisition_is_behind(a) ? a : NULL;
}

/* ----------------------------------------------------------- invariants -- */

static void check(const struct hf_core *core, const struct hf_acquisition *a)
{
    const struct hf_own_ticket *ticket = a->tickets.current;

    assert(a->tickets.turn.in_line ==
           (wants_ticket(a) &&
            a->tickets.turn.failures < HF_ENQUEUE_ORDER_FAILURES));
    hf_enqueue_order_check(core, &a->tickets.turn);
    assert(a->state != STATE(HELD) || ticket->state == HF_OWN_TICKET_HELD);
    assert(!a->tickets.downgrading || a->state == STATE(HELD));
    assert(a->state != STATE(HELD) ||
           hf_own_ticket_is_downgrading(ticket) == a->tickets.downgrading);
    if (ticket != NULL) {
        assert(ticket->acquisition == a);
        assert((ticket->state < HF_OWN_TICKET_HELD) ==
               (a->state == STATE(WAITING)));
        hf_own_ticket_check(core, ticket);
    }
    FOR_EACH_EARLIER (a, earlier) {
        assert(earlier->state >= HF_OWN_TICKET_REMOVING);
        hf_own_ticket_check(core, earlier);
    }
}

const struct hf_acquisition_ops hf_acquisition_ticket_ops = {
    .takes_tickets = true,
    .begin = begin,
    .pump = pump,
    .connected = connected,
    .session_over = session_over,
    .leave = leave,
    .must_wait = must_wait,
    .may_remain = may_remain,
    .release_status = release_status,
    .may_finish = all_finished,
    .finish = finish,
    .position = position,
    .behind = behind,
    .check = check,
};

/* ----------------------------------------------------- from other files -- */

bool hf_acquisition_can_be_freed(const struct hf_acquisition *a)
{
    bool done;

    if (a->state == STATE(IDLE))
        return true;
    if (a->state != STATE(DONE) || !a->ops->takes_tickets)
        return a->state == STATE(DONE);
    done = a->tickets.current == NULL ||
           hf_own_ticket_can_be_freed(a->tickets.current);
    FOR_EACH_EARLIER (a, ticket)
        done &= hf_own_ticket_can_be_freed(ticket);
    return done;
}

/* A lease that is held stays, whatever the limit; one that waits lists the
 * queue again. */
void hf_acquisition_set_limit(struct hf_core *core, struct hf_acquisition *a,
                              uint32_t limit)
{
    assert(a->kind == HF_TICKET_LEASE);
    hf_schedule_touch(core, &a->entry);
    a->limit = limit;
    if (a->tickets.current != NULL)
        hf_own_ticket_set_limit(core, a->tickets.current, limit);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of an acquisition, its beginning and its end, and what is common
 * to all of them: the list of those that are HELD, the report of the end, and
 * the texts.  How an acquisition gets its lock is behind hf_acquisition_ops.
 */
#include "core/acquisition.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/list.h"
#include "base/time_math.h"
#include "core/core_state.h"
#include "core/deadlock_detection.h"

#define STATE(name) HF_ACQUISITION_##name
#define TO(name) (1u << HF_ACQUISITION_##name)

/* The legal moves. */
static const struct hf_state_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(WAITING)},
    [STATE(WAITING)] = {"WAITING", TO(HELD) | TO(GIVING_UP)},
    [STATE(HELD)] = {"HELD", TO(LOST) | TO(RELEASING)},
    [STATE(LOST)] = {"LOST", TO(RELEASING)},
    [STATE(RELEASING)] = {"RELEASING", TO(DONE)},
    [STATE(GIVING_UP)] = {"GIVING_UP", TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_state_machine table = {"acquisition", states,
                                              sizeof states / sizeof states[0]};

/* Put ${a} at the end of the list of those that are HELD.  Grants that depend
 * on others come behind these: a parent behind its children, a waiter behind
 * the ticket of its cohort. */
static void add_held(struct hf_core *core, struct hf_acquisition *a)
{
    HF_LIST_APPEND_BY(&core->held, a, next_held, previous_held);
}

struct hf_acquisition *
hf_acquisition_of_turn(const struct hf_enqueue_turn *turn)
{
    return container_of(turn, struct hf_acquisition, tickets.turn);
}

bool hf_acquisition_is_asking(const struct hf_enqueue_turn *turn)
{
    const struct hf_own_ticket *ticket =
        hf_acquisition_of_turn(turn)->tickets.current;

    return ticket != NULL && hf_own_ticket_enqueue_unanswered(ticket);
}

bool hf_acquisition_can_enqueue(const struct hf_acquisition *a)
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
    if (a->kind == HF_TICKET_LEASE || !hf_acquisition_is_waiting(a))
        return false;
    if (a->tickets.current == NULL)
        return hf_acquisition_can_enqueue(a);
    return a->tickets.current->state < HF_OWN_TICKET_QUEUED;
}

void hf_acquisition_update_order(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->ops->takes_tickets)
        hf_enqueue_order_update(core, &a->tickets.turn, wants_ticket(a),
                                hf_acquisition_is_queued(a));
}

/* Set the flag that says whether safe-until is about this grant (safe_until.h).
 */
static void set_valid(struct hf_acquisition *a, bool valid)
{
    if (!hf_acquisition_is_of_user(a))
        return;
    atomic_store(&a->user.valid, valid);
    if (a->user.valid_copy != NULL)
        atomic_store(a->user.valid_copy, valid);
}

/* The flag of the grant changes together with the list of what is HELD, so that
 * safe-until counts for no grant that is not in the list. */
void hf_acquisition_move(struct hf_core *core, struct hf_acquisition *a,
                         enum hf_acquisition_state state)
{
    if (a->state == STATE(HELD)) {
        set_valid(a, false);
        HF_LIST_REMOVE_BY(&core->held, a, next_held, previous_held);
    }
    hf_state_machine_move(&table, &a->state, state);
    if (a->state == STATE(HELD)) {
        add_held(core, a);
        set_valid(a, true);
    }
    if (a->state != STATE(WAITING))
        hf_deadlock_detection_end(core, a->detection);
    hf_schedule_touch(core, &a->entry);
}

void hf_acquisition_link(struct hf_core *core, struct hf_acquisition *a)
{
    HF_LIST_APPEND(&core->acquisitions, a);
}

void hf_acquisition_unlink(struct hf_core *core, struct hf_acquisition *a)
{
    HF_LIST_REMOVE(&core->acquisitions, a);
}

/* GIVING_UP: has the report of the end waited long enough for the removal?
 * When the client closes it does not wait, because the end of the session
 * removes every ticket. */
static bool removal_wait_is_over(const struct hf_core *core,
                                 const struct hf_acquisition *a)
{
    return a->state == STATE(GIVING_UP) &&
           !hf_acquisition_waits_for_removal(a) &&
           (core->now_ms >= a->notify_at_ms || core->session.closing);
}

#define MAY_REMAIN "; its ticket may stay in the queue until the session ends"

/* ENDED: if a ticket may remain in a queue, set .may_remain and say so at the
 * end of the message. */
static void append_may_remain(struct hf_core *core, struct hf_acquisition *a)
{
    char text[HF_ERROR_TEXT_BYTES];

    if (a->may_remain || core->session.closing || !a->ops->may_remain(a))
        return;
    a->may_remain = true;
    (void)snprintf(text, sizeof text, "%.*s" MAY_REMAIN,
                   (int)(sizeof text - sizeof MAY_REMAIN),
                   hf_acquisition_text(a));
    hf_acquisition_set_text(core, a, text);
}

/* Report the end, if it is time.  Invariant 8: once. */
static void notify_end(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->notified || (a->ops->must_wait(a) && !removal_wait_is_over(core, a)))
        return;
    a->notified = true;
    hf_schedule_touch(core, &a->entry);
    if (a->state == STATE(RELEASING)) {
        if (a->status == HF_OK)
            a->status = a->ops->release_status(core, a);
        a->listener->ended(core, a, HF_EFFECT_RELEASED);
    } else {
        append_may_remain(core, a);
        a->listener->ended(core, a, HF_EFFECT_ENDED);
    }
}

const char *hf_acquisition_text(const struct hf_acquisition *a)
{
    if (!a->message_missing)
        return hf_shared_text_get(a->message);
    return a->may_remain ? "there is no memory to say why" MAY_REMAIN
                         : "there is no memory to say why";
}

void hf_acquisition_set_text(struct hf_core *core, struct hf_acquisition *a,
                             const char *text)
{
    a->message_missing =
        !hf_shared_text_set(&core->messages, &a->message, text);
}

void hf_acquisition_set_error(struct hf_core *core, struct hf_acquisition *a,
                              const struct hf_error *why)
{
    a->status = why->status;
    hf_acquisition_set_text(core, a, why->text);
}

void hf_acquisition_set_holder(struct hf_core *core, struct hf_acquisition *a,
                               const char *payload)
{
    (void)hf_shared_text_set(&core->holders, &a->holder, payload);
}

/* Invariant 7: the flag is cleared in this step, and LOST is queued before
 * anything else that the same event causes. */
void hf_acquisition_lose(struct hf_core *core, struct hf_acquisition *a,
                         bool ticket_lives, const char *why)
{
    struct hf_own_ticket *ticket = hf_acquisition_ticket(a);
    struct hf_error loss;

    assert(a->state == STATE(HELD) && why[0] != '\0');
    hf_error_set(&loss, HF_ELOST, "%s", why);
    hf_acquisition_set_error(core, a, &loss);
    hf_acquisition_move(core, a, STATE(LOST));
    if (ticket != NULL && ticket_lives)
        hf_own_ticket_remove(core, ticket);
    else if (ticket != NULL)
        hf_own_ticket_move(core, ticket, HF_OWN_TICKET_GONE);
    a->listener->lost(core, a);
}

void hf_acquisition_cancel(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "the wait was cancelled");
    hf_acquisition_give_up(core, a, &why);
}

/* ------------------------------------------------- the user as listener -- */

/* The user as the listener: each report becomes an effect.  WAITING is queued
 * at most once; it is read when it is carried out, so it is never out of date.
 */
static void user_waiting(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->user.waiting.queued)
        hf_effect_add(&core->effects, &a->user.waiting, HF_EFFECT_WAITING);
}

static void user_granted(struct hf_core *core, struct hf_acquisition *a)
{
    hf_effect_add(&core->effects, &a->user.answer, HF_EFFECT_GRANTED);
}

static void user_revoked(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->user.loss.queued)
        hf_effect_add(&core->effects, &a->user.loss, HF_EFFECT_REVOKED);
}

/* LOST replaces a REVOKED that was not carried out. */
static void user_lost(struct hf_core *core, struct hf_acquisition *a)
{
    hf_effect_remove(&core->effects, &a->user.loss); /* REVOKED */
    hf_effect_add(&core->effects, &a->user.loss, HF_EFFECT_LOST);
}

static void user_ended(struct hf_core *core, struct hf_acquisition *a,
                       enum hf_effect_kind how)
{
    hf_effect_add(&core->effects, &a->user.answer, how);
}

static void user_done(struct hf_core *core, struct hf_acquisition *a)
{
    hf_effect_add(&core->effects, &a->user.done, HF_EFFECT_ACQUISITION_DONE);
}

static bool user_is_relied_on(const struct hf_acquisition *a)
{
    (void)a;
    return true;
}

const struct hf_acquisition_listener hf_acquisition_user_listener = {
    .waiting = user_waiting,
    .granted = user_granted,
    .revoked = user_revoked,
    .lost = user_lost,
    .ended = user_ended,
    .done = user_done,
    .is_relied_on = user_is_relied_on,
};

void hf_acquisition_grant(struct hf_core *core, struct hf_acquisition *a,
                          bool revoked)
{
    assert(a->session == core->session.number && !core->session.closing);
    hf_acquisition_move(core, a, STATE(HELD));
    a->listener->granted(core, a);
    if (revoked)
        a->listener->revoked(core, a);
}

void hf_acquisition_lose_position(struct hf_acquisition *a)
{
    assert(a->state == STATE(WAITING));
    a->position_lost = true;
    if (a->listener->displaced != NULL)
        a->listener->displaced(a);
}

void hf_acquisition_count_displaced(struct hf_acquisition *a)
{
    if (a->position_lost)
        a->displaced++;
    a->position_lost = false;
}

bool hf_acquisition_is_relied_on(const struct hf_acquisition *a)
{
    return a->state == STATE(HELD) && a->listener->is_relied_on(a);
}

void hf_acquisition_pump(struct hf_core *core, struct hf_acquisition *a)
{
    hf_schedule_touch(core, &a->entry);
    a->ops->pump(core, a);
}

void hf_acquisition_connected(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->ops->connected != NULL)
        a->ops->connected(core, a);
    hf_acquisition_pump(core, a);
}

void hf_acquisition_session_over(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state != STATE(HELD));
    hf_schedule_touch(core, &a->entry);
    if (a->ops->session_over != NULL)
        a->ops->session_over(core, a);
    hf_acquisition_finish(core, a);
}

/* The acquisition by whose ticket ${a} waits behind others; NULL: none. */
static struct hf_acquisition *behind(const struct hf_acquisition *a)
{
    return a->state == STATE(WAITING)
               ? (struct hf_acquisition *)(uintptr_t)a->ops->behind(a)
               : NULL;
}

void hf_acquisition_describe(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_acquisition *waiting = behind(a);

    if (waiting == NULL)
        return;
    hf_ticket_description_want(waiting->tickets.current);
    hf_acquisition_pump(core, waiting);
}

/* ------------------------------------------------ detection of deadlocks -- */

static bool waits_by(const struct hf_acquisition *a,
                     struct hf_deadlock_wait *wait)
{
    const struct hf_acquisition *waiting = behind(a);
    const struct hf_own_ticket *ticket;

    if (waiting == NULL)
        return false;
    ticket = waiting->tickets.current;
    *wait = (struct hf_deadlock_wait){
        .queue = waiting->queue,
        .kind = waiting->entry_mutex ? HF_TICKET_LEASE : waiting->kind,
        .ticket = &ticket->id,
        .text =
            hf_ticket_description_text(ticket->description, waiting->payload),
    };
    return true;
}

static const struct hf_deadlock_detection_listener detection_listener = {
    .waits_by = waits_by,
    .found = hf_acquisition_give_up,
    .idle = hf_acquisition_finish,
};

/* ---------------------------------------------------- beginning and end -- */

/* Set what an ACQUIRE needs besides the fields that its user has set.  As long
 * as the time that the client has for its first connection is not over, that
 * time counts; after it each acquisition has config.connect_ms of its own. */
static void init(struct hf_core *core, struct hf_acquisition *a)
{
    const struct hf_session *session = &core->session;

    if (a->started_at_ms == 0)
        a->started_at_ms = core->now_ms;
    a->connect_by_ms = hf_after_ms(core->now_ms, core->config.connect_ms);
    if (core->now_ms < session->connect_by_ms && !session->ever_connected)
        a->connect_by_ms = session->connect_by_ms;
    if (a->ops->takes_tickets) {
        a->tickets.enqueue_at_ms = a->not_before_ms;
        hf_enqueue_order_register(core, &a->tickets.turn, a->queue,
                                  a->not_before_ms);
    }
    if (a->detection != NULL)
        hf_deadlock_detection_begin(core, a->detection, &detection_listener, a,
                                    &a->entry);
    if (hf_acquisition_is_of_user(a)) {
        a->user.answer.acquisition = a;
        a->user.loss.acquisition = a;
        a->user.waiting.acquisition = a;
        a->user.done.acquisition = a;
    }
}

void hf_acquisition_start(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    assert(a->state == STATE(IDLE) && a->queue != NULL && a->payload != NULL);
    assert((a->kind >= HF_TICKET_MUTEX && a->kind <= HF_TICKET_QUEUED_LAST) ||
           a->kind == HF_TICKET_PARTICIPANT);
    assert(a->ops->takes_tickets ||
           (!hf_acquisition_waits_for_removal(a) && a->not_before_ms == 0));
    assert(a->kind != HF_TICKET_LEASE ||
           (a->weight > 0 && a->weight <= HF_WEIGHT_MAX));
    assert(a->kind != HF_TICKET_PARTICIPANT ||
           (a->limit > 0 && a->limit <= HF_PARTICIPANTS_MAX &&
            a->ops->takes_tickets && hf_acquisition_is_of_user(a)));
    assert(a->detection == NULL || a->ops->behind != NULL);
    init(core, a);
    hf_acquisition_move(core, a, STATE(WAITING));
    a->ops->begin(core, a);
    if (core->session.closing) {
        hf_error_set(&why, HF_ECLOSED, "the client is closed");
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    hf_acquisition_pump(core, a);
}

/* The report waits for the removal of the ticket, but not beyond .notify_at_ms.
 * The listener knows at once that the wait is over. */
void hf_acquisition_give_up(struct hf_core *core, struct hf_acquisition *a,
                            const struct hf_error *why)
{
    if (!hf_acquisition_is_waiting(a))
        return;
    a->notify_at_ms = hf_after_ms(core->now_ms, HF_REMOVAL_WAIT_MS);
    hf_acquisition_set_error(core, a, why);
    a->ops->leave(core, a);
    hf_acquisition_move(core, a, STATE(GIVING_UP));
    if (a->listener->gave_up != NULL)
        a->listener->gave_up(core, a);
    hf_acquisition_pump(core, a);
}

void hf_acquisition_release(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == STATE(HELD) || a->state == STATE(LOST));
    a->status = a->state == STATE(HELD) ? HF_OK : HF_ELOST;
    if (hf_acquisition_is_of_user(a))
        hf_effect_remove(&core->effects, &a->user.loss);
    a->ops->leave(core, a);
    hf_acquisition_move(core, a, STATE(RELEASING));
    hf_acquisition_pump(core, a);
}

/* An UNWATCH that is still queued precedes ACQUISITION_DONE, because effects
 * are carried out in their order. */
void hf_acquisition_finish(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state != STATE(RELEASING) && a->state != STATE(GIVING_UP))
        return;
    notify_end(core, a);
    if (!a->notified || !a->ops->may_finish(a) ||
        hf_deadlock_detection_is_busy(a->detection))
        return;
    hf_acquisition_move(core, a, STATE(DONE));
    hf_schedule_leave(core, &a->entry);
    a->ops->finish(core, a);
    a->listener->done(core, a);
}

void hf_acquisition_free(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket *ticket = hf_acquisition_earlier(a), *next;

    hf_shared_text_clear(&core->messages, &a->message);
    hf_shared_text_clear(&core->holders, &a->holder);
    hf_deadlock_detection_free(a->detection);
    a->detection = NULL;
    for (; ticket != NULL; ticket = next) {
        next = ticket->next;
        hf_own_ticket_free(ticket);
    }
    if ((ticket = hf_acquisition_ticket(a)) != NULL)
        hf_own_ticket_free(ticket);
    if (a->ops == NULL || !a->ops->takes_tickets)
        return;
    hf_shared_text_clear(&core->messages, &a->tickets.removal_denied);
    a->tickets.current = a->tickets.earlier = NULL;
}

void hf_acquisition_explain_busy(const struct hf_acquisition *a,
                                 struct hf_error *why)
{
    if (a->kind == HF_TICKET_PARTICIPANT)
        hf_error_set(why, HF_EBUSY,
                     "%" PRIu32 " of %" PRIu32 " parties are there", a->ahead,
                     a->limit);
    else if (a->holder == NULL)
        hf_error_set(why, HF_EBUSY, "somebody else is ahead in the queue");
    else
        hf_error_set(why, HF_EBUSY, "held by \"%s\"",
                     hf_shared_text_get(a->holder));
}

void hf_acquisition_end_busy(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_acquisition_explain_busy(a, &why);
    hf_acquisition_give_up(core, a, &why);
}

/* ----------------------------------------------------------- invariants -- */

/* Invariants between an acquisition and its own tickets. */
static void check_tickets(const struct hf_core *core,
                          const struct hf_acquisition *a)
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

void hf_acquisition_check(const struct hf_core *core,
                          const struct hf_acquisition *a)
{
    assert(a->state > STATE(IDLE) && a->state < STATE(DONE));
    hf_schedule_check_entry(core, &a->entry);
    if (a->ops->takes_tickets)
        check_tickets(core, a);
    assert(!hf_acquisition_is_of_user(a) ||
           atomic_load(&a->user.valid) == (a->state == STATE(HELD)));
    assert(a->state != STATE(HELD) || a->session == core->session.number);
    assert(!a->notified || a->state >= STATE(RELEASING));
    assert(a->kind != HF_TICKET_PARTICIPANT || a->state != STATE(HELD) ||
           a->generation > a->token);
    assert(!hf_acquisition_is_waiting(a) || !core->session.closing);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of an acquisition, its beginning and its end, and what is common
 * to all of them: the list of those that are HELD, the report of the end, and
 * the texts.  How an acquisition gets its lock is behind hf_acquisition_ops,
 * and what it reports goes to its hf_acquisition_listener.
 */
#include "core/acquisition.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include <holdfast/barrier.h>

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
    [STATE(RELEASING)] = {"RELEASING", TO(DRAINING)},
    [STATE(GIVING_UP)] = {"GIVING_UP", TO(DRAINING)},
    [STATE(DRAINING)] = {"DRAINING", TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_state_machine table = {"acquisition", states,
                                              sizeof states / sizeof states[0]};

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

/* Set the flag that says whether safe-until is about this grant
 * (published_safe_until.h).
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
 * safe-until counts for no grant that is not in the list.  A grant that depends
 * on other grants is behind them in that list: a parent behind its children, a
 * waiter behind the ticket of its cohort. */
void hf_acquisition_move(struct hf_core *core, struct hf_acquisition *a,
                         enum hf_acquisition_state state)
{
    if (a->state == STATE(HELD)) {
        set_valid(a, false);
        HF_LIST_REMOVE_BY(&core->held, a, next_held, previous_held);
    }
    hf_state_machine_move(&table, &a->state, state);
    if (a->state == STATE(HELD)) {
        HF_LIST_APPEND_BY(&core->held, a, next_held, previous_held);
        set_valid(a, true);
    }
    if (a->state != STATE(WAITING) && a->detection != NULL)
        hf_deadlock_detection_end(core, a->detection);
    hf_schedule_touch(core, &a->entry);
}

void hf_acquisition_link(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == STATE(WAITING));
    HF_LIST_APPEND(&core->acquisitions, a);
}

void hf_acquisition_unlink(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == STATE(DONE));
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

    assert(a->state == STATE(GIVING_UP));
    if (a->may_remain || core->session.closing || !a->ops->may_remain(a))
        return;
    a->may_remain = true;
    (void)snprintf(text, sizeof text, "%.*s" MAY_REMAIN,
                   (int)(sizeof text - sizeof MAY_REMAIN),
                   hf_acquisition_text(a));
    hf_acquisition_set_text(core, a, text);
}

/* RELEASING or GIVING_UP: report the end, if it is time.  Invariant 8: once,
 * because it is DRAINING from then on. */
static void notify_end(struct hf_core *core, struct hf_acquisition *a)
{
    bool released = a->state == STATE(RELEASING);

    assert(released || a->state == STATE(GIVING_UP));
    if (a->ops->must_wait(a) && !removal_wait_is_over(core, a))
        return;
    if (!released)
        append_may_remain(core, a);
    else if (a->status == HF_OK)
        a->status = a->ops->release_status(core, a);
    hf_acquisition_move(core, a, STATE(DRAINING));
    a->listener->ended(core, a,
                       released ? HF_EFFECT_RELEASED : HF_EFFECT_ENDED);
}

const char *hf_acquisition_text(const struct hf_acquisition *a)
{
    if (a->message != NULL || a->status == HF_OK)
        return hf_shared_text_get(a->message);
    return a->may_remain ? "there is no memory to say why" MAY_REMAIN
                         : "there is no memory to say why";
}

void hf_acquisition_set_text(struct hf_core *core, struct hf_acquisition *a,
                             const char *text)
{
    (void)hf_shared_text_set(&core->messages, &a->message, text);
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
 * every other report of the same event and before what follows from the loss.
 */
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

/* ------------------------------------------------------------- reports -- */

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
    hf_text_update_want(waiting->tickets.current);
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
        .text = hf_text_update_text(ticket->text_update, waiting->payload),
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
    if (core->now_ms < session->connect_by_ms && session->number == 0)
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

/* The report waits for the removal of the ticket, but not beyond .notify_at_ms,
 * unless the acquisition waits for removal.  The listener knows at once that
 * the wait is over. */
void hf_acquisition_give_up(struct hf_core *core, struct hf_acquisition *a,
                            const struct hf_error *why)
{
    if (a->state != STATE(WAITING))
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
    if (a->state == STATE(RELEASING) || a->state == STATE(GIVING_UP))
        notify_end(core, a);
    if (a->state != STATE(DRAINING) || !a->ops->may_finish(a) ||
        (a->detection != NULL && hf_deadlock_detection_is_busy(a->detection)))
        return;
    hf_acquisition_move(core, a, STATE(DONE));
    hf_schedule_leave(core, &a->entry);
    a->ops->finish(core, a);
    a->listener->done(core, a);
}

void hf_acquisition_free(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket *ticket, *next;

    hf_shared_text_clear(&core->messages, &a->message);
    hf_shared_text_clear(&core->holders, &a->holder);
    hf_deadlock_detection_free(a->detection);
    a->detection = NULL;
    if (a->ops == NULL || !a->ops->takes_tickets)
        return;
    for (ticket = a->tickets.earlier; ticket != NULL; ticket = next) {
        next = ticket->next;
        hf_own_ticket_free(ticket);
    }
    if (a->tickets.current != NULL)
        hf_own_ticket_free(a->tickets.current);
    hf_shared_text_clear(&core->messages, &a->tickets.removal_denied);
    a->tickets.current = a->tickets.earlier = NULL;
}

void hf_acquisition_explain_busy(const struct hf_acquisition *a,
                                 struct hf_error *why)
{
    if (a->kind == HF_TICKET_PARTICIPANT)
        hf_error_set(why, HF_EBUSY,
                     "%" PRIu32 " of %" PRIu32 " participants are there",
                     a->ahead, a->limit);
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

void hf_acquisition_check(const struct hf_core *core,
                          const struct hf_acquisition *a)
{
    assert(a->state > STATE(IDLE) && a->state < STATE(DONE));
    hf_schedule_check_entry(core, &a->entry);
    if (a->ops->check != NULL)
        a->ops->check(core, a);
    assert(!hf_acquisition_is_of_user(a) ||
           atomic_load(&a->user.valid) == (a->state == STATE(HELD)));
    assert(a->state != STATE(HELD) || a->session == core->session.number);
    assert(a->kind != HF_TICKET_PARTICIPANT || a->state != STATE(HELD) ||
           a->generation > a->token);
    assert(a->state != STATE(WAITING) || !core->session.closing);
}

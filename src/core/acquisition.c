/* SPDX-License-Identifier: Apache-2.0 */
#include "core/acquisition.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/cohort.h"
#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"
#include "core/rule.h"

#define STATE(name) HF_ACQUISITION_##name
#define FOR_EACH_EARLIER(a, ticket)                                            \
    for (struct hf_own_ticket *ticket = (a)->earlier; ticket != NULL;          \
         ticket = (ticket)->next)

#define TO(name) (1u << HF_ACQUISITION_##name)

static const struct hf_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(WAITING)},
    [STATE(WAITING)] = {"WAITING", TO(HELD) | TO(WITHDRAWING)},
    [STATE(HELD)] = {"HELD", TO(LOST) | TO(RELEASING)},
    [STATE(LOST)] = {"LOST", TO(RELEASING)},
    [STATE(RELEASING)] = {"RELEASING", TO(DONE)},
    [STATE(WITHDRAWING)] = {"WITHDRAWING", TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_machine_table table = {"acquisition", states,
                                              sizeof states / sizeof states[0]};

static void add_held(struct hf_core *core, struct hf_acquisition *a)
{
    a->previous_held = core->last_held;
    a->next_held = NULL;
    if (core->last_held != NULL)
        core->last_held->next_held = a;
    else
        core->first_held = a;
    core->last_held = a;
    core->held++;
}

static void remove_held(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->previous_held != NULL)
        a->previous_held->next_held = a->next_held;
    else
        core->first_held = a->next_held;
    if (a->next_held != NULL)
        a->next_held->previous_held = a->previous_held;
    else
        core->last_held = a->previous_held;
    core->held--;
}

void hf_acquisition_displaced(struct hf_acquisition *a)
{
    a->placeless = true;
    if (a->whole != NULL)
        a->whole->placeless = true;
}

/* Counted with the new place: what is told before is of the old one. */
static void count_place(struct hf_acquisition *a)
{
    if (a->placeless)
        a->displaced++;
    a->placeless = false;
}

/* Is it what a user has, and not a part of that, or what stands for it? */
static bool is_owners(const struct hf_acquisition *a)
{
    return a->whole == NULL && a->stands_for == NULL;
}

static void set_valid(struct hf_acquisition *a, bool valid)
{
    atomic_store(&a->valid, valid);
    if (a->valid_copy != NULL)
        atomic_store(a->valid_copy, valid);
}

/* The flag goes with the list, in the step, so that where the list is empty no
 * reader takes safe-until for that of a grant. */
void hf_acquisition_move(struct hf_core *core, struct hf_acquisition *a,
                         enum hf_acquisition_state state)
{
    if (a->state == STATE(HELD)) {
        set_valid(a, false);
        remove_held(core, a);
    }
    hf_machine_move(&table, &a->state, state);
    if (a->state == STATE(HELD)) {
        add_held(core, a);
        set_valid(a, is_owners(a));
    }
    hf_schedule_touch(core, &a->entry);
    hf_enqueue_order_update(core, a);
}

bool hf_acquisition_is_waiting(const struct hf_acquisition *a)
{
    return a->state == STATE(WAITING);
}

bool hf_acquisition_is_queued(const struct hf_acquisition *a)
{
    return a->ticket != NULL && a->ticket->state == HF_OWN_TICKET_QUEUED;
}

bool hf_acquisition_is_behind(const struct hf_acquisition *a)
{
    return hf_acquisition_is_queued(a) && a->ticket->in.queued.blocking > 0;
}

static void link_last(struct hf_core *core, struct hf_acquisition *a)
{
    a->previous = core->last;
    a->next = NULL;
    if (core->last != NULL)
        core->last->next = a;
    else
        core->first = a;
    core->last = a;
}

static void unlink(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->previous != NULL)
        a->previous->next = a->next;
    else
        core->first = a->next;
    if (a->next != NULL)
        a->next->previous = a->previous;
    else
        core->last = a->previous;
}

/* Tell the owner, or the whole that it is a part of. */
static void tell_owner(struct hf_core *core, struct hf_acquisition *a,
                       struct hf_effect *effect, enum hf_effect_kind kind)
{
    if (a->stands_for != NULL)
        hf_cohort_told(core, a, kind);
    else if (a->whole == NULL)
        hf_effect_add(&core->effects, effect, kind);
    else if (kind == HF_EFFECT_LOST)
        hf_bundle_lost(core, a);
    else if (kind == HF_EFFECT_WAITING)
        hf_bundle_waits(core, a);
    else if (kind == HF_EFFECT_REVOKED)
        hf_bundle_revoked(core, a);
    else
        hf_bundle_touch(core, a->whole);
}

/* HF_OK only if an answer confirmed the removal of our own ticket.  Otherwise
 * the ticket may have been gone, and somebody else admitted, before the owner
 * released it. */
static hf_status release_status(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    if (a->bundle != NULL)
        return hf_bundle_release_status(core, a);
    if (a->cohort != NULL)
        return hf_cohort_release_status(core, a);
    if (a->ticket->removal.found)
        return HF_OK;
    hf_error_set(&why, HF_ELOST,
                 "the engine did not confirm that this release removed the "
                 "ticket; somebody else may have been admitted before it");
    hf_acquisition_keep_story(core, a, &why);
    return HF_ELOST;
}

static bool may_exist(const struct hf_own_ticket *ticket)
{
    return ticket != NULL && ticket->state != HF_OWN_TICKET_LOOKING &&
           ticket->state != HF_OWN_TICKET_GONE;
}

bool hf_acquisition_may_remain(const struct hf_acquisition *a)
{
    bool may = may_exist(a->ticket);

    if (a->bundle != NULL)
        return hf_bundle_may_remain(a);
    if (a->cohort != NULL)
        return a->awaits != NULL && hf_acquisition_may_remain(a->awaits);
    FOR_EACH_EARLIER(a, ticket)
    may |= may_exist(ticket);
    return may;
}

bool hf_acquisition_awaits_removal(const struct hf_acquisition *a)
{
    bool awaits = a->ticket != NULL && hf_own_ticket_awaits_removal(a->ticket);

    FOR_EACH_EARLIER(a, ticket)
    awaits |= hf_own_ticket_awaits_removal(ticket);
    return awaits;
}

/* Is there something to wait for before the owner hears of the end? */
static bool is_leaving(const struct hf_acquisition *a)
{
    if (a->bundle != NULL)
        return !hf_bundle_is_told(a);
    if (a->cohort != NULL)
        return a->awaits != NULL && !a->awaits->told;
    if (a->state == STATE(WITHDRAWING) && !a->thorough)
        return hf_acquisition_awaits_removal(a);
    if (a->status == HF_EDENIED)
        return false;
    return a->thorough ? hf_acquisition_may_remain(a) : may_exist(a->ticket);
}

/* The client that closes ends its session, and every ticket with it. */
static bool is_overdue(const struct hf_core *core,
                       const struct hf_acquisition *a)
{
    return a->state == STATE(WITHDRAWING) && !a->thorough &&
           (core->now_ms >= a->tell_at_ms || core->session.closing);
}

#define MAY_REMAIN "; its ticket may stay in the queue until the session ends"

static void note_what_may_remain(struct hf_core *core, struct hf_acquisition *a)
{
    char text[HF_ERROR_TEXT_BYTES];

    if (a->may_remain || core->session.closing || !hf_acquisition_may_remain(a))
        return;
    a->may_remain = true;
    (void)snprintf(text, sizeof text, "%.*s" MAY_REMAIN,
                   (int)(sizeof text - sizeof MAY_REMAIN),
                   hf_acquisition_text(a));
    hf_acquisition_set_text(core, a, text);
}

/* Tell the owner, if it is time. */
static void tell(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->told || (is_leaving(a) && !is_overdue(core, a)))
        return;
    a->told = true;
    hf_schedule_touch(core, &a->entry);
    if (a->state == STATE(RELEASING)) {
        if (a->status == HF_OK)
            a->status = release_status(core, a);
        tell_owner(core, a, &a->answer_effect, HF_EFFECT_RELEASED);
    } else {
        note_what_may_remain(core, a);
        tell_owner(core, a, &a->answer_effect, HF_EFFECT_ENDED);
    }
}

/* Are all answers in that tell of its tickets, and none of these in a queue? */
static bool are_settled(const struct hf_acquisition *a)
{
    bool settled = a->ticket == NULL || hf_own_ticket_is_settled(a->ticket);

    FOR_EACH_EARLIER(a, ticket)
    settled &= hf_own_ticket_is_settled(ticket);
    return settled;
}

static void forget_tickets(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->ticket != NULL)
        hf_ticket_table_remove(&core->tickets, a->ticket);
    FOR_EACH_EARLIER(a, ticket)
    hf_ticket_table_remove(&core->tickets, ticket);
}

/* Finish when nothing of it can be, or appear, in the queue, and the engine
 * has no request of it.  A FORGET on its way precedes FORGOTTEN. */
void hf_acquisition_settle(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state != STATE(RELEASING) && a->state != STATE(WITHDRAWING))
        return;
    tell(core, a);
    if (!a->told || !are_settled(a) ||
        (a->bundle != NULL && hf_bundle_lurks(a)) ||
        (a->cohort != NULL && !hf_cohort_may_forget(a)))
        return;
    hf_acquisition_move(core, a, STATE(DONE));
    hf_schedule_leave(core, &a->entry);
    if (a->cohort != NULL) {
        hf_cohort_part(core, a);
    } else {
        forget_tickets(core, a);
        unlink(core, a);
    }
    tell_owner(core, a, &a->forgotten_effect, HF_EFFECT_FORGOTTEN);
}

bool hf_acquisition_is_over(const struct hf_acquisition *a)
{
    bool over = a->ticket == NULL || hf_own_ticket_is_over(a->ticket);

    FOR_EACH_EARLIER(a, ticket)
    over &= hf_own_ticket_is_over(ticket);
    return a->state == STATE(IDLE) || (a->state == STATE(DONE) && over);
}

void hf_acquisition_free(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket *next;

    hf_text_drop(&core->stories, &a->story);
    hf_text_drop(&core->holders, &a->holder);
    if (a->ticket != NULL)
        hf_own_ticket_free(a->ticket);
    for (struct hf_own_ticket *t = a->earlier; t != NULL; t = next) {
        next = t->next;
        hf_own_ticket_free(t);
    }
    a->ticket = a->earlier = NULL;
}

void hf_acquisition_renew(struct hf_core *core, struct hf_acquisition *a)
{
    assert(hf_acquisition_is_over(a));
    hf_acquisition_free(core, a);
    *a = (struct hf_acquisition){
        .queue = a->queue,
        .payload = a->payload,
        .kind = a->kind,
        .weight = a->weight,
        .limit = a->limit,
        .whole = a->whole,
        .gate = a->gate,
        .only_try = a->only_try,
        .deadline_at_ms = a->deadline_at_ms,
        .report_every_ms = a->report_every_ms,
    };
}

const char *hf_acquisition_text(const struct hf_acquisition *a)
{
    if (!a->untold)
        return hf_text_of(a->story);
    return a->may_remain ? "there is no memory to say why" MAY_REMAIN
                         : "there is no memory to say why";
}

void hf_acquisition_set_text(struct hf_core *core, struct hf_acquisition *a,
                             const char *text)
{
    a->untold = !hf_text_keep(&core->stories, &a->story, text);
}

void hf_acquisition_keep_story(struct hf_core *core, struct hf_acquisition *a,
                               const struct hf_error *why)
{
    a->status = why->status;
    hf_acquisition_set_text(core, a, why->text);
}

void hf_acquisition_set_holder(struct hf_core *core, struct hf_acquisition *a,
                               const char *payload)
{
    (void)hf_text_keep(&core->holders, &a->holder, payload);
}

void hf_acquisition_give_up(struct hf_core *core, struct hf_acquisition *a,
                            const struct hf_error *why)
{
    if (!hf_acquisition_is_waiting(a))
        return;
    a->tell_at_ms = hf_after_ms(core->now_ms, HF_REMOVAL_WAIT_MS);
    if (a->bundle != NULL)
        a->tell_at_ms = hf_earlier_ms(a->tell_at_ms, hf_bundle_tell_at_ms(a));
    if (a->cohort != NULL)
        hf_cohort_leave(core, a);
    hf_acquisition_keep_story(core, a, why);
    if (a->ticket != NULL && a->ticket->state == HF_OWN_TICKET_UNSURE)
        hf_acquisition_abandon(core, a);
    else if (a->ticket != NULL)
        hf_own_ticket_remove(core, a->ticket);
    hf_acquisition_move(core, a, STATE(WITHDRAWING));
    if (a->whole != NULL)
        hf_bundle_touch(core, a->whole);
    hf_acquisition_pump(core, a);
}

/* What is held ends, and with it the ticket: it is removed if it may still be
 * there. */
static void end_hold(struct hf_core *core, struct hf_acquisition *a,
                     bool ticket_lives)
{
    if (a->ticket == NULL)
        return; /* others have the tickets */
    if (ticket_lives)
        hf_own_ticket_remove(core, a->ticket);
    else
        hf_own_ticket_move(core, a->ticket, HF_OWN_TICKET_GONE);
}

void hf_acquisition_lose(struct hf_core *core, struct hf_acquisition *a,
                         bool ticket_lives, const char *why)
{
    struct hf_error loss;

    assert(a->state == STATE(HELD) && why[0] != '\0');
    hf_error_set(&loss, HF_ELOST, "%s", why);
    hf_acquisition_keep_story(core, a, &loss);
    hf_acquisition_move(core, a, STATE(LOST));
    hf_effect_remove(&core->effects, &a->loss_effect); /* REVOKED */
    end_hold(core, a, ticket_lives);
    tell_owner(core, a, &a->loss_effect, HF_EFFECT_LOST);
}

bool hf_acquisition_is_relied_on(const struct hf_acquisition *a)
{
    if (a->state != STATE(HELD))
        return false;
    if (a->whole != NULL && hf_acquisition_is_waiting(a->whole))
        return false;
    return a->stands_for == NULL || a->stands_for->holder != NULL;
}

static void init(struct hf_core *core, struct hf_acquisition *a)
{
    const struct hf_session *session = &core->session;

    a->started_at_ms =
        a->whole != NULL ? a->whole->started_at_ms : core->now_ms;
    a->connect_by_ms = hf_after_ms(core->now_ms, core->config.connect_ms);
    if (core->now_ms < session->connect_by_ms && !session->ever_connected)
        a->connect_by_ms = session->connect_by_ms;
    a->enqueue_at_ms = a->not_before_ms;
    hf_enqueue_order_want(core, a);
    a->entry.acquisition = a;
    hf_schedule_enter(core, &a->entry);
    a->answer_effect.acquisition = a;
    a->loss_effect.acquisition = a;
    a->waiting_effect.acquisition = a;
    a->forgotten_effect.acquisition = a;
}

void hf_acquisition_want(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    assert(a->state == STATE(IDLE) && a->queue != NULL && a->payload != NULL);
    assert((a->kind >= HF_TICKET_MUTEX && a->kind <= HF_TICKET_ASKED_LAST) ||
           a->kind == HF_TICKET_MEMBER);
    assert(!a->thorough ||
           (a->bundle == NULL && a->whole == NULL && a->cohort == NULL));
    assert(a->kind != HF_TICKET_LEASE ||
           (a->weight > 0 && a->weight <= HF_WEIGHT_MAX));
    assert(a->kind != HF_TICKET_MEMBER ||
           (a->limit > 0 && a->limit <= HF_MEMBERS_MAX && a->whole == NULL &&
            a->bundle == NULL && a->cohort == NULL));
    init(core, a);
    if (a->cohort == NULL)
        link_last(core, a);
    hf_acquisition_move(core, a, STATE(WAITING));
    if (a->cohort != NULL)
        hf_cohort_join(core, a);
    if (core->session.closing) {
        hf_error_set(&why, HF_ECLOSED, "the client is closed");
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    hf_acquisition_pump(core, a);
}

void hf_acquisition_cancel(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "the wait was cancelled");
    hf_acquisition_give_up(core, a, &why);
}

void hf_acquisition_release(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == STATE(HELD) || a->state == STATE(LOST));
    a->status = a->state == STATE(HELD) ? HF_OK : HF_ELOST;
    hf_effect_remove(&core->effects, &a->loss_effect);
    if (a->state == STATE(HELD))
        end_hold(core, a, true);
    if (a->cohort != NULL)
        hf_cohort_leave(core, a);
    hf_acquisition_move(core, a, STATE(RELEASING));
    hf_acquisition_pump(core, a);
}

/* What is held stays; who waits looks again. */
void hf_acquisition_set_limit(struct hf_core *core, struct hf_acquisition *a,
                              uint32_t limit)
{
    assert(a->kind == HF_TICKET_LEASE);
    hf_schedule_touch(core, &a->entry);
    a->limit = limit;
    if (a->ticket != NULL)
        hf_own_ticket_set_limit(core, a->ticket, limit);
}

/* -------------------------------------------------------------- tickets -- */

/* The ticket in force is so no more.  It is freed when it is over. */
static void drop_ticket(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket **link = &a->earlier;

    while (*link != NULL)
        link = &(*link)->next;
    *link = a->ticket;
    a->ticket = NULL;
    hf_schedule_touch(core, &a->entry);
}

static void free_over(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket **link = &a->earlier, *over;

    while ((over = *link) != NULL) {
        if (!hf_own_ticket_is_over(over)) {
            link = &over->next;
            continue;
        }
        *link = over->next;
        hf_ticket_table_remove(&core->tickets, over);
        hf_own_ticket_free(over);
    }
}

bool hf_acquisition_can_enqueue(const struct hf_acquisition *a)
{
    unsigned count = 0;

    FOR_EACH_EARLIER(a, ticket)
    count += may_exist(ticket);
    return count < HF_EARLIER_TICKETS_MAX;
}

void hf_acquisition_queued(struct hf_core *core, struct hf_acquisition *a)
{
    count_place(a);
    if (a->whole != NULL)
        count_place(a->whole);
    a->enqueue_retry = (struct hf_retry_state){0};
    hf_enqueue_order_update(core, a);
}

void hf_acquisition_set_place(struct hf_core *core, struct hf_acquisition *a,
                              size_t ahead, const char *holder)
{
    a->ahead = (uint32_t)ahead;
    if (holder != NULL)
        hf_acquisition_set_holder(core, a, holder);
}

void hf_acquisition_waits(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->waiting_effect.queued)
        tell_owner(core, a, &a->waiting_effect, HF_EFFECT_WAITING);
}

void hf_acquisition_granted(struct hf_core *core, struct hf_acquisition *a,
                            bool revoked)
{
    a->ticket_id = a->ticket->id;
    a->token = a->ticket->token;
    a->session = a->ticket->session;
    hf_acquisition_move(core, a, STATE(HELD));
    tell_owner(core, a, &a->answer_effect, HF_EFFECT_GRANTED);
    if (revoked)
        tell_owner(core, a, &a->loss_effect, HF_EFFECT_REVOKED);
}

void hf_acquisition_revoked(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->loss_effect.queued)
        tell_owner(core, a, &a->loss_effect, HF_EFFECT_REVOKED);
}

/* Back to the tail, but not faster than a retry: somebody may go on removing
 * our tickets. */
void hf_acquisition_evicted(struct hf_core *core, struct hf_acquisition *a)
{
    hf_acquisition_displaced(a);
    hf_own_ticket_unask(core, a->ticket);
    if (a->ticket->state == HF_OWN_TICKET_QUEUED)
        hf_own_ticket_move(core, a->ticket, HF_OWN_TICKET_GONE);
    drop_ticket(core, a);
    hf_enqueue_order_update(core, a);
    a->enqueue_at_ms = hf_core_again_at_ms(core, &a->enqueue_retry);
}

void hf_acquisition_try_again(struct hf_core *core, struct hf_acquisition *a,
                              const struct hf_error *why,
                              enum hf_own_ticket_end end)
{
    uint64_t at_ms = core->now_ms;

    hf_acquisition_keep_story(core, a, why); /* told if time runs out first */
    hf_enqueue_order_failed(core, a);
    /* A connection that dropped is waited for and counts for nothing. */
    if (core->session.state == HF_STATE_CONNECTED) {
        at_ms = hf_retry_next(&core->config.retry, &a->enqueue_retry,
                              core->now_ms, &core->config.random);
        at_ms = hf_later_ms(at_ms, hf_after_ms(core->now_ms, 1));
    }
    if (a->ticket != NULL) {
        hf_own_ticket_end(core, a->ticket, end);
        drop_ticket(core, a);
        hf_enqueue_order_update(core, a);
    }
    a->enqueue_at_ms = at_ms;
    if (at_ms == HF_FOREVER)
        hf_acquisition_give_up(core, a, why);
}

void hf_acquisition_abandon(struct hf_core *core, struct hf_acquisition *a)
{
    hf_own_ticket_unask(core, a->ticket);
    hf_own_ticket_abandon(core, a->ticket, true);
    drop_ticket(core, a);
}

void hf_acquisition_removal_denied(struct hf_core *core,
                                   const struct hf_own_ticket *ticket,
                                   const struct hf_error *why)
{
    struct hf_acquisition *a = ticket->acquisition;
    bool concerns = ticket == a->ticket || a->thorough;
    bool is_told = (a->state == STATE(RELEASING) && a->status == HF_OK) ||
                   (a->state == STATE(WITHDRAWING) && a->thorough);

    if (concerns && is_told && !a->told)
        hf_acquisition_keep_story(core, a, why);
}

/* See that there is a ticket to ask for.  Without the memory for it that fails
 * as if the engine had none. */
static bool make_ticket(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    if (a->ticket == NULL)
        a->ticket = hf_own_ticket_new(a);
    if (a->ticket != NULL)
        return true;
    hf_error_set(&why, HF_ENOMEM, "no memory for a ticket");
    hf_acquisition_try_again(core, a, &why, HF_OWN_TICKET_NEVER_WAS);
    return false;
}

static bool may_try(const struct hf_core *core, const struct hf_acquisition *a)
{
    return core->now_ms >= a->enqueue_at_ms && hf_acquisition_can_enqueue(a);
}

/* A lease enters its queue only once there was room: what stands in it is what
 * is held. */
static void pump_try(struct hf_core *core, struct hf_acquisition *a)
{
    bool looks = hf_rule_of(a->kind)->has_room != NULL;

    if (a->ticket != NULL && a->ticket->state != HF_OWN_TICKET_LOOKING)
        return;
    if (looks && (!may_try(core, a) || !make_ticket(core, a) ||
                  !hf_own_ticket_looking(a->ticket)->room))
        return;
    if (!may_try(core, a) || hf_enqueue_order_before(core, a) != NULL ||
        !make_ticket(core, a))
        return;
    a->stamp = 0;
    hf_own_ticket_enqueue(core, a->ticket);
    hf_enqueue_order_update(core, a);
    hf_enqueue_order_asked(core, a);
}

void hf_acquisition_pump(struct hf_core *core, struct hf_acquisition *a)
{
    hf_schedule_touch(core, &a->entry);
    if (a->bundle != NULL) {
        hf_bundle_touch(core, a);
        return;
    }
    if (a->cohort != NULL) {
        hf_cohort_touch(core, a->cohort);
        return;
    }
    if (a->stands_for != NULL)
        hf_cohort_touch(core, a->stands_for);
    a->pumped_ms = core->now_ms;
    hf_enqueue_order_update(core, a); /* another ticket may be possible again */
    if (a->state == STATE(WAITING) && hf_session_usable(&core->session))
        pump_try(core, a);
    if (a->ticket != NULL)
        hf_own_ticket_pump(core, a->ticket);
    FOR_EACH_EARLIER(a, ticket)
    hf_own_ticket_pump(core, ticket);
    free_over(core, a);
    hf_acquisition_settle(core, a);
}

/* --------------------------------------------------------------- session -- */

void hf_acquisition_connected(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->ticket != NULL)
        hf_own_ticket_connected(core, a->ticket);
    hf_acquisition_pump(core, a);
}

void hf_acquisition_proven(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state == STATE(HELD))
        hf_cohort_touch(core, a->stands_for);
    else
        hf_own_ticket_proven(core, a->ticket);
}

void hf_acquisition_session_over(struct hf_core *core, struct hf_acquisition *a)
{
    bool waiting = hf_acquisition_is_waiting(a);

    assert(a->state != STATE(HELD));
    hf_schedule_touch(core, &a->entry);
    if (waiting && hf_acquisition_is_queued(a))
        hf_acquisition_displaced(a);
    if (a->ticket != NULL)
        hf_own_ticket_session_over(core, a->ticket);
    FOR_EACH_EARLIER(a, ticket)
    hf_own_ticket_session_over(core, ticket);
    hf_acquisition_downgrade_ends(core, a);
    if (waiting && a->ticket != NULL) {
        a->enqueue_at_ms = 0;
        drop_ticket(core, a);
    }
    free_over(core, a);
    a->turn.known = false;
    hf_enqueue_order_update(core, a); /* another ticket is possible */
    hf_acquisition_settle(core, a);
}

bool hf_acquisition_needs_proof(const struct hf_acquisition *a)
{
    const struct hf_own_ticket *ticket = a->ticket;

    if (a->state == STATE(HELD))
        return true;
    return ticket != NULL && (ticket->state == HF_OWN_TICKET_ENQUEUING ||
                              (ticket->state == HF_OWN_TICKET_QUEUED &&
                               ticket->in.queued.blocking <= 1));
}

bool hf_acquisition_waits_for_proof(const struct hf_acquisition *a)
{
    if (a->state == STATE(HELD))
        return a->stands_for != NULL && a->stands_for->holder == NULL;
    return hf_acquisition_is_queued(a) && a->ticket->in.queued.blocking == 0;
}

/* ------------------------------------------------------------- downgrade -- */

/*
 * A writer becomes a reader, in its place.  The request is repeated until it is
 * answered, as it may be: an engine that has done it says so again.  Meanwhile
 * nobody watches the ticket here, for it may go under one name and be there
 * under another; whether it still is, is asked again afterwards.
 */
void hf_acquisition_downgrade(struct hf_core *core, struct hf_acquisition *a)
{
    /* The promise may have ended with this very step. */
    assert(a->state == STATE(HELD) || a->state == STATE(LOST));
    assert(a->kind == HF_TICKET_WRITE);
    assert(!a->downgrading && a->whole == NULL && a->bundle == NULL);
    a->downgrading = true;
    if (a->state == STATE(HELD))
        *hf_own_ticket_held(a->ticket) =
            (struct hf_own_ticket_held){.downgrade_asked = false};
    hf_acquisition_pump(core, a);
}

static void tell_downgrade(struct hf_core *core, struct hf_acquisition *a,
                           hf_status status)
{
    a->downgrading = false;
    a->downgrade_status = status;
    hf_effect_add(&core->effects, &a->waiting_effect, HF_EFFECT_DOWNGRADED);
}

void hf_acquisition_downgrade_ends(struct hf_core *core,
                                   struct hf_acquisition *a)
{
    if (!a->downgrading || a->state == STATE(HELD))
        return;
    hf_own_ticket_unask(core, a->ticket);
    tell_downgrade(core, a, a->state == STATE(LOST) ? HF_ELOST : HF_ECANCELLED);
}

void hf_acquisition_downgraded(struct hf_core *core, struct hf_acquisition *a)
{
    a->kind = HF_TICKET_READ;
    tell_downgrade(core, a, HF_OK);
}

void hf_acquisition_downgrade_denied(struct hf_core *core,
                                     struct hf_acquisition *a,
                                     const struct hf_error *why)
{
    hf_acquisition_keep_story(core, a, why);
    tell_downgrade(core, a, why->status);
}

/* ---------------------------------------------------------------- limits -- */

void hf_acquisition_explain_busy(const struct hf_acquisition *a,
                                 struct hf_error *why)
{
    if (a->kind == HF_TICKET_MEMBER)
        hf_error_set(why, HF_EBUSY,
                     "%" PRIu32 " of %" PRIu32 " parties are there", a->ahead,
                     a->limit);
    else if (a->holder == NULL)
        hf_error_set(why, HF_EBUSY, "somebody else is ahead in the queue");
    else
        hf_error_set(why, HF_EBUSY, "held by \"%s\"", hf_text_of(a->holder));
}

void hf_acquisition_end_busy(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_acquisition_explain_busy(a, &why);
    hf_acquisition_give_up(core, a, &why);
}

/* When the wait has to end, whatever comes. */
static uint64_t limit_ms(const struct hf_core *core,
                         const struct hf_acquisition *a)
{
    uint64_t at_ms = a->deadline_at_ms;

    if (core->session.closing || hf_bundle_is_taking(a) ||
        a->stands_for != NULL)
        return HF_FOREVER;
    if (a->only_try)
        at_ms = hf_after_ms(a->started_at_ms, core->config.connect_ms);
    if (hf_session_refused(&core->session))
        at_ms = hf_earlier_ms(at_ms, a->started_at_ms);
    if (!core->session.ever_connected)
        at_ms = hf_earlier_ms(at_ms, a->connect_by_ms);
    return at_ms;
}

/* Whose place in the queue is its own. */
static const struct hf_acquisition *ticket_of(const struct hf_acquisition *a)
{
    if (a->cohort != NULL && a->cohort->ticket != NULL)
        return a->cohort->ticket;
    return a;
}

/* What keeps it out of the queue: that of the session, if it has any, or why
 * the last enqueue was turned down, its own or that of the one whose turn it
 * is. */
static const char *trouble_of(const struct hf_core *core,
                              const struct hf_acquisition *a)
{
    const struct hf_acquisition *before;

    while ((before = hf_enqueue_order_before(core, a)) != NULL)
        a = before;
    if (core->session.trouble[0] == '\0' && a->enqueue_retry.tries > 0)
        return hf_acquisition_text(a);
    return core->session.trouble;
}

void hf_acquisition_explain_overdue(struct hf_core *core,
                                    struct hf_acquisition *a,
                                    uint64_t waited_ms, bool only_try,
                                    struct hf_error *why)
{
    const char *state = hf_state_name(core->session.state);
    const char *trouble = trouble_of(core, ticket_of(a));
    const char *colon = trouble[0] != '\0' ? ": " : "";
    const struct hf_acquisition *at = ticket_of(a);
    bool placed = a->cohort != NULL && hf_cohort_place(core, a);

    if (!core->session.ever_connected)
        hf_session_never_connected(&core->session, core->config.place,
                                   waited_ms, why);
    else if (only_try)
        hf_error_set(why, HF_EUNREACHABLE,
                     "the engine gave no answer within %" PRIu64
                     " ms; the session is %s%s%s",
                     waited_ms, state, colon, trouble);
    else if (at->ticket != NULL && at->ticket->state == HF_OWN_TICKET_LOOKING &&
             at->ticket->queue_watch->state == HF_QUEUE_WATCH_WATCHING)
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %" PRIu64 " ms; first in line, but of %" PRIu32
                     " permits %" PRIu32 " are not free; held by \"%s\"",
                     waited_ms, a->limit, a->weight, hf_text_of(a->holder));
    else if (!hf_acquisition_is_queued(at) && !placed)
        hf_error_set(why, HF_ETIMEDOUT,
                     "not in the queue after %" PRIu64
                     " ms; the session is %s%s%.300s",
                     waited_ms, state, colon, trouble);
    else if (a->kind == HF_TICKET_MEMBER && at->ticket->in.queued.blocking > 0)
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %" PRIu64 " ms; %" PRIu32 " of %" PRIu32
                     " parties are there",
                     waited_ms, a->ahead, a->limit);
    else if (!placed && at->ticket->in.queued.blocking == 0)
        hf_error_set(why, HF_ETIMEDOUT,
                     "first in the queue, but after %" PRIu64
                     " ms the engine has not confirmed the session",
                     waited_ms);
    else
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %" PRIu64 " ms; ahead: %" PRIu32
                     ", held by \"%s\"",
                     waited_ms, a->ahead, hf_text_of(a->holder));
}

static void end_overdue(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_acquisition_explain_overdue(core, a, core->now_ms - a->started_at_ms,
                                   a->only_try, &why);
    hf_acquisition_give_up(core, a, &why);
}

void hf_acquisition_tick(struct hf_core *core, struct hf_acquisition *a)
{
    if (hf_acquisition_is_waiting(a) && core->now_ms >= limit_ms(core, a)) {
        end_overdue(core, a);
        return;
    }
    if (a->ticket != NULL)
        hf_own_ticket_tick(core, a->ticket);
    hf_acquisition_pump(core, a);
}

/* What came due since the last pump still is: another's event may be later than
 * that, and come before the tick. */
uint64_t hf_acquisition_request_at_ms(const struct hf_acquisition *a)
{
    uint64_t at_ms = HF_FOREVER;

    if (a->state == STATE(WAITING) && a->ticket == NULL &&
        a->enqueue_at_ms > a->pumped_ms)
        at_ms = a->enqueue_at_ms;
    if (a->ticket != NULL)
        at_ms = hf_earlier_ms(at_ms, hf_own_ticket_request_at_ms(a->ticket));
    FOR_EACH_EARLIER(a, ticket)
    at_ms = hf_earlier_ms(at_ms, hf_own_ticket_request_at_ms(ticket));
    return at_ms;
}

uint64_t hf_acquisition_limit_at_ms(const struct hf_core *core,
                                    const struct hf_acquisition *a)
{
    if (hf_acquisition_is_waiting(a))
        return limit_ms(core, a);
    if (a->state == STATE(WITHDRAWING) && !a->told && !a->thorough)
        return a->tell_at_ms;
    return HF_FOREVER;
}

/* ------------------------------------------------------------ invariants -- */

void hf_acquisition_check(const struct hf_core *core,
                          const struct hf_acquisition *a)
{
    const struct hf_own_ticket *ticket = a->ticket;
    bool has_tickets = a->bundle == NULL && a->cohort == NULL;

    assert(a->state > STATE(IDLE) && a->state < STATE(DONE));
    hf_enqueue_order_check(core, a);
    hf_schedule_check_entry(core, &a->entry);
    assert(atomic_load(&a->valid) == (a->state == STATE(HELD) && is_owners(a)));
    assert(a->state != STATE(HELD) || a->session == core->session.number);
    assert(has_tickets || (ticket == NULL && a->earlier == NULL));
    if (has_tickets && a->state == STATE(HELD))
        assert(ticket->state == HF_OWN_TICKET_HELD);
    if (ticket != NULL) {
        assert(ticket->acquisition == a);
        assert((ticket->state < HF_OWN_TICKET_HELD) ==
               (a->state == STATE(WAITING)));
        hf_own_ticket_check(core, ticket);
    }
    FOR_EACH_EARLIER(a, earlier)
    {
        assert(earlier->state >= HF_OWN_TICKET_REMOVING);
        hf_own_ticket_check(core, earlier);
    }
    assert(!a->told || a->state >= STATE(RELEASING));
    assert(!a->downgrading || a->state == STATE(HELD));
    assert(a->kind != HF_TICKET_MEMBER || a->state != STATE(HELD) ||
           a->stamp > a->token);
    assert(!hf_acquisition_is_waiting(a) || !core->session.closing);
}

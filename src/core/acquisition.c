/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers note what has become wanted; hf_acquisition_pump() asks for what is
 * wanted as soon as it can be asked.  So nothing is lost to a request that was
 * under way, a link that was down, or a tick that came late.
 */
#include "core/acquisition_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/cohort.h"
#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"
#include "core/memory.h"

#define TO(name) (1u << HF_ACQUISITION_##name)

static const struct hf_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(PAUSED)},
    [STATE(PAUSED)] = {"PAUSED", TO(LOOKING) | TO(ENQUEUING) | TO(HELD) |
                                     TO(WITHDRAWING)},
    [STATE(LOOKING)] = {"LOOKING",
                        TO(PAUSED) | TO(ENQUEUING) | TO(WITHDRAWING)},
    [STATE(ENQUEUING)] = {"ENQUEUING", TO(QUEUED) | TO(UNSURE) | TO(PAUSED) |
                                           TO(WITHDRAWING)},
    [STATE(UNSURE)] = {"UNSURE", TO(QUEUED) | TO(PAUSED) | TO(WITHDRAWING)},
    [STATE(QUEUED)] = {"QUEUED", TO(HELD) | TO(PAUSED) | TO(WITHDRAWING)},
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

/* Is it on its way to a grant? */
bool hf_acquisition_is_waiting(const struct hf_acquisition *a)
{
    return a->state >= STATE(PAUSED) && a->state <= STATE(QUEUED);
}

/* Or has somebody else the ticket for it? */
static bool has_ticket(const struct hf_acquisition *a)
{
    return a->bundle == NULL && a->cohort == NULL;
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

bool hf_acquisition_has_abandoned(const struct hf_acquisition *a)
{
    return a->withdrawals.abandoned != NULL;
}

bool hf_acquisition_lurks(const struct hf_acquisition *a)
{
    return hf_withdrawals_own_lurks(&a->withdrawals) ||
           hf_acquisition_has_abandoned(a);
}

void hf_acquisition_tell(struct hf_core *core, struct hf_acquisition *a,
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
    if (hf_withdrawals_own_found(&a->withdrawals))
        return HF_OK;
    hf_error_set(&why, HF_ELOST,
                 "the engine did not confirm that this release removed the "
                 "ticket; somebody else may have been admitted before it");
    hf_acquisition_keep_story(core, a, &why);
    return HF_ELOST;
}

bool hf_acquisition_may_remain(const struct hf_acquisition *a)
{
    if (a->bundle != NULL)
        return hf_bundle_may_remain(a);
    if (a->cohort != NULL)
        return a->awaits != NULL && hf_acquisition_may_remain(a->awaits);
    return hf_acquisition_enqueue_unanswered(a) || hf_acquisition_lurks(a);
}

/* Will the answer to a removal, or to the enqueue before it, still come? */
static bool awaits_removal(const struct hf_acquisition *a)
{
    return hf_acquisition_enqueue_unanswered(a) ||
           hf_withdrawals_await_answer(&a->withdrawals);
}

/* Is there something to wait for before the owner hears of the end? */
static bool is_leaving(const struct hf_acquisition *a)
{
    if (a->bundle != NULL)
        return !hf_bundle_is_told(a);
    if (a->cohort != NULL)
        return a->awaits != NULL && !a->awaits->told;
    if (a->state == STATE(WITHDRAWING) && !a->thorough)
        return awaits_removal(a);
    if (a->status == HF_EDENIED)
        return false;
    return a->thorough ? hf_acquisition_may_remain(a)
                       : hf_withdrawals_own_lurks(&a->withdrawals);
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
        hf_acquisition_tell(core, a, &a->answer_effect, HF_EFFECT_RELEASED);
    } else {
        note_what_may_remain(core, a);
        hf_acquisition_tell(core, a, &a->answer_effect, HF_EFFECT_ENDED);
    }
}

/* Finish when nothing of it can be, or appear, in the queue, and the engine
 * has no request of it.  A FORGET on its way precedes FORGOTTEN. */
void hf_acquisition_settle(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state != STATE(RELEASING) && a->state != STATE(WITHDRAWING))
        return;
    tell(core, a);
    if (!a->told || a->ask.busy || hf_description_is_busy(a->description) ||
        hf_acquisition_lurks(a) || (a->bundle != NULL && hf_bundle_lurks(a)) ||
        (a->cohort != NULL && !hf_cohort_may_forget(a)))
        return;
    assert(!hf_watches_any(&a->watches));
    hf_acquisition_move(core, a, STATE(DONE));
    hf_schedule_leave(core, &a->entry);
    if (a->cohort != NULL) {
        hf_cohort_part(core, a);
    } else {
        hf_ticket_table_remove(&core->tickets, a);
        unlink(core, a);
    }
    hf_acquisition_tell(core, a, &a->forgotten_effect, HF_EFFECT_FORGOTTEN);
}

bool hf_acquisition_is_over(const struct hf_acquisition *a)
{
    if (a->state == STATE(IDLE))
        return true;
    return a->state == STATE(DONE) && hf_watches_idle(&a->watches) &&
           (a->lookout == NULL || a->lookout->state == HF_LOOKOUT_NONE);
}

void hf_acquisition_free(struct hf_core *core, struct hf_acquisition *a)
{
    hf_text_drop(&core->stories, &a->story);
    hf_text_drop(&core->holders, &a->holder);
    hf_watches_free(&a->watches);
    hf_withdrawals_free(&a->withdrawals);
    hf_free(a->lookout);
    hf_free(a->description);
    a->lookout = NULL;
    a->description = NULL;
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
    unsigned from = a->state;

    if (!hf_acquisition_is_waiting(a))
        return;
    hf_acquisition_unask(core, a);
    a->tell_at_ms = hf_after_ms(core->now_ms, HF_REMOVAL_WAIT_MS);
    if (a->bundle != NULL)
        a->tell_at_ms = hf_earlier_ms(a->tell_at_ms, hf_bundle_tell_at_ms(a));
    if (a->cohort != NULL)
        hf_cohort_leave(core, a);
    hf_acquisition_keep_story(core, a, why);
    if (from == STATE(UNSURE))
        hf_acquisition_abandon(core, a, true);
    if (from == STATE(QUEUED))
        hf_withdrawals_begin_own(&a->withdrawals, &a->ticket);
    hf_acquisition_move(core, a, STATE(WITHDRAWING));
    if (a->whole != NULL)
        hf_bundle_touch(core, a->whole);
    hf_acquisition_pump(core, a);
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
    if (ticket_lives && has_ticket(a))
        hf_withdrawals_begin_own(&a->withdrawals, &a->ticket);
    hf_acquisition_tell(core, a, &a->loss_effect, HF_EFFECT_LOST);
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
    a->report_at_ms = HF_FOREVER;
    hf_enqueue_order_want(core, a);
    a->entry.acquisition = a;
    hf_schedule_enter(core, &a->entry);
    a->ask.queue = a->queue;
    a->ask.payload = a->payload;
    a->ask.ticket_kind = a->kind;
    a->ask.weight = a->kind == HF_TICKET_LEASE ? a->weight : 1;
    if (a->kind == HF_TICKET_LEASE || a->kind == HF_TICKET_MEMBER)
        a->ask.limit = a->limit;
    a->ask.acquisition = a;
    a->ask.effect = &a->ask_effect;
    a->ask_effect.request = &a->ask;
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
    hf_acquisition_move(core, a, STATE(PAUSED));
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
    if (a->state == STATE(HELD) && has_ticket(a))
        hf_withdrawals_begin_own(&a->withdrawals, &a->ticket);
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
    a->limit = a->ask.limit = limit;
    if (a->lookout == NULL)
        return;
    a->lookout->request.limit = limit;
    if (a->lookout->state == HF_LOOKOUT_WATCHING)
        hf_lookout_end(a->lookout, &core->effects);
}

void hf_acquisition_connected(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state == STATE(QUEUED)) {
        a->stale = true;
        a->list_wanted = true;
        a->list_at_ms = 0;
        a->watch_at_ms = 0;
    }
    if (a->lookout != NULL)
        a->lookout->at_ms = 0;
    hf_acquisition_pump(core, a);
}

void hf_acquisition_proven(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state == STATE(HELD)) {
        hf_cohort_touch(core, a->stands_for);
        return;
    }
    assert(a->state == STATE(QUEUED) && a->blocking == 0);
    if (a->stale || !hf_session_may_admit(&core->session, core->now_ms))
        return;
    /* A list might take longer than the proof is good for. */
    if (a->admissible && hf_watches_hear(&a->watches, &a->ticket))
        hf_acquisition_admit(core, a);
    else if (!a->ask.busy) /* a list under way will do */
        a->list_wanted = true;
    hf_acquisition_pump(core, a);
}

void hf_acquisition_session_over(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state != STATE(HELD));
    hf_schedule_touch(core, &a->entry);
    hf_acquisition_unask(core, a);
    hf_description_end(a->description, &core->effects);
    /* The engine has answered everything before it reported this. */
    assert(!a->ask.busy && !hf_description_is_busy(a->description));
    hf_watches_clear(&a->watches, &core->effects);
    if (a->lookout != NULL)
        hf_lookout_clear(a->lookout, &core->effects);
    hf_acquisition_downgrade_ends(core, a);
    hf_withdrawals_clear(&a->withdrawals, &core->effects);
    if (hf_acquisition_is_waiting(a) && a->state != STATE(PAUSED)) {
        if (a->state == STATE(QUEUED))
            hf_acquisition_displaced(a);
        a->before_known = a->beyond_known = false;
        a->enqueue_at_ms = 0;
        hf_acquisition_move(core, a, STATE(PAUSED));
    }
    a->turn.known = false;
    hf_enqueue_order_update(core, a); /* all ids are free */
    hf_acquisition_settle(core, a);
}

void hf_acquisition_look(struct hf_acquisition *a,
                         const struct hf_snapshot *snapshot)
{
    hf_withdrawals_look(&a->withdrawals, snapshot);
}

bool hf_acquisition_needs_proof(const struct hf_acquisition *a)
{
    return a->state == STATE(HELD) || a->state == STATE(ENQUEUING) ||
           (a->state == STATE(QUEUED) && a->blocking <= 1);
}

bool hf_acquisition_waits_for_proof(const struct hf_acquisition *a)
{
    if (a->state == STATE(HELD))
        return a->stands_for != NULL && a->stands_for->holder == NULL;
    return a->state == STATE(QUEUED) && a->blocking == 0;
}

void hf_acquisition_check(const struct hf_core *core,
                          const struct hf_acquisition *a)
{
    bool in_queue = a->state == STATE(QUEUED) || a->state == STATE(HELD);

    assert(a->state > STATE(IDLE) && a->state < STATE(DONE));
    hf_enqueue_order_check(core, a);
    hf_schedule_check_entry(core, &a->entry);
    assert(atomic_load(&a->valid) == (a->state == STATE(HELD) && is_owners(a)));
    assert(!in_queue || a->session == core->session.number);
    assert(!in_queue || hf_session_alive(&core->session));
    assert(in_queue || !hf_watches_any(&a->watches));
    assert(hf_acquisition_wants_room(a) || a->lookout == NULL ||
           a->lookout->state == HF_LOOKOUT_NONE ||
           a->lookout->state == HF_LOOKOUT_FORGOTTEN);
    assert((a->state == STATE(ENQUEUING)) <=
           hf_acquisition_enqueue_unanswered(a));
    assert(!hf_acquisition_enqueue_unanswered(a) ||
           a->state == STATE(ENQUEUING) || a->state == STATE(WITHDRAWING));
    assert(!a->ask_effect.queued || a->ask.busy);
    assert(!hf_description_is_busy(a->description) ||
           a->description->is_asked ||
           !hf_ticket_id_equal(&a->description->request.ticket, &a->ticket));
    assert(!in_queue || !has_ticket(a) || a->withdrawals.own != NULL);
    assert(!hf_withdrawals_own_lurks(&a->withdrawals) ||
           a->state >= STATE(LOST));
    assert(!hf_withdrawals_own_lurks(&a->withdrawals) ||
           !hf_acquisition_enqueue_unanswered(a)); /* nor overtakes it */
    assert(!a->told || a->state >= STATE(RELEASING));
    assert(!a->downgrading || a->state == STATE(HELD));
    assert(a->kind != HF_TICKET_MEMBER || a->state != STATE(HELD) ||
           a->stamp > a->token);
    assert(a->state != STATE(QUEUED) || a->blocking > 0 || !a->before_known);
    assert(a->state != STATE(QUEUED) ||
           hf_ticket_table_find(&core->tickets, &a->ticket) == a);
    assert(!hf_acquisition_is_waiting(a) || !core->session.closing);
}

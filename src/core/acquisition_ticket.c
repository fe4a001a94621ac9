/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition that takes tickets of its own, one after the other, until one
 * of them is admitted.  The ticket tells it what becomes of it; another try is
 * another ticket, while those before are removed.
 */
#include "core/acquisition.h"

#include <assert.h>

#include "core/core_state.h"
#include "core/error.h"
#include "core/instant.h"
#include "core/rule.h"

#define STATE(name) HF_ACQUISITION_##name

/* ---------------------------------------------------------- its tickets -- */

/* May it be, or appear, in the queue? */
static bool may_exist(const struct hf_own_ticket *ticket)
{
    return ticket != NULL && ticket->state != HF_OWN_TICKET_LOOKING &&
           ticket->state != HF_OWN_TICKET_GONE;
}

/* Move the ticket in force to the earlier ones.  It is freed when it is over.
 */
static void drop_ticket(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket **link = &a->own.earlier;

    while (*link != NULL)
        link = &(*link)->next;
    *link = a->own.ticket;
    a->own.ticket = NULL;
    hf_schedule_touch(core, &a->entry);
}

static void free_over(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_own_ticket **link = &a->own.earlier, *over;

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

static void forget_tickets(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->own.ticket != NULL)
        hf_ticket_table_remove(&core->tickets, a->own.ticket);
    FOR_EACH_EARLIER(a, ticket)
    hf_ticket_table_remove(&core->tickets, ticket);
}

/* Are all answers in that tell of its tickets, and none of these in a queue? */
static bool are_finished(const struct hf_acquisition *a)
{
    bool settled =
        a->own.ticket == NULL || hf_own_ticket_is_finished(a->own.ticket);

    FOR_EACH_EARLIER(a, ticket)
    settled &= hf_own_ticket_is_finished(ticket);
    return settled;
}

/* ------------------------------------ notifications of the ticket in force --
 */

static void queued(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_acquisition *a = ticket->acquisition;

    hf_acquisition_count_place(a);
    if (a->owner->queued != NULL)
        a->owner->queued(a);
    a->own.enqueue_retry = (struct hf_retry_state){0};
    hf_acquisition_update_order(core, a);
}

static void placed(struct hf_core *core, struct hf_own_ticket *ticket,
                   size_t ahead, const char *holder)
{
    ticket->acquisition->ahead = (uint32_t)ahead;
    if (holder != NULL)
        hf_acquisition_set_holder(core, ticket->acquisition, holder);
}

static bool may_wait(struct hf_core *core, struct hf_own_ticket *ticket)
{
    if (ticket->acquisition->only_try)
        hf_acquisition_end_busy(core, ticket->acquisition);
    return !ticket->acquisition->only_try;
}

static void waiting(struct hf_core *core, struct hf_own_ticket *ticket)
{
    ticket->acquisition->owner->waiting(core, ticket->acquisition);
}

static void granted(struct hf_core *core, struct hf_own_ticket *ticket,
                    bool revoked)
{
    struct hf_acquisition *a = ticket->acquisition;

    a->ticket_id = ticket->id;
    a->token = ticket->token;
    a->stamp = ticket->stamp;
    a->session = ticket->session;
    hf_acquisition_grant(core, a, revoked);
}

static void revoked(struct hf_core *core, struct hf_own_ticket *ticket)
{
    ticket->acquisition->owner->revoked(core, ticket->acquisition);
}

static void lost(struct hf_core *core, struct hf_own_ticket *ticket, bool lives,
                 const char *why)
{
    hf_acquisition_lose(core, ticket->acquisition, lives, why);
}

/* Back to the tail, but not faster than a retry: somebody may go on removing
 * our tickets. */
static void evicted(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_acquisition *a = ticket->acquisition;

    hf_acquisition_displaced(a);
    hf_own_ticket_unask(core, ticket);
    if (ticket->state == HF_OWN_TICKET_QUEUED)
        hf_own_ticket_move(core, ticket, HF_OWN_TICKET_GONE);
    drop_ticket(core, a);
    hf_acquisition_update_order(core, a);
    a->own.enqueue_at_ms = hf_core_again_at_ms(core, &a->own.enqueue_retry);
}

/* ${end}: what becomes of the ticket in force, if there is one. */
static void try_again(struct hf_core *core, struct hf_acquisition *a,
                      const struct hf_error *why, enum hf_own_ticket_end end)
{
    uint64_t at_ms = core->now_ms;

    hf_acquisition_keep_message(core, a, why); /* if the wait ends meanwhile */
    hf_enqueue_order_failed(core, &a->own.turn);
    /* A connection that dropped is waited for and counts for nothing. */
    if (core->session.state == HF_STATE_CONNECTED) {
        at_ms = hf_retry_next(&core->config.retry, &a->own.enqueue_retry,
                              core->now_ms, &core->config.random);
        at_ms = hf_later_ms(at_ms, hf_after_ms(core->now_ms, 1));
    }
    if (a->own.ticket != NULL) {
        hf_own_ticket_end(core, a->own.ticket, end);
        drop_ticket(core, a);
        hf_acquisition_update_order(core, a);
    }
    a->own.enqueue_at_ms = at_ms;
    if (at_ms == HF_FOREVER)
        hf_acquisition_give_up(core, a, why);
}

static void unsure(struct hf_core *core, struct hf_own_ticket *ticket,
                   const struct hf_error *why)
{
    /* Should no retry be left, this is what the wait ends with. */
    hf_acquisition_keep_message(core, ticket->acquisition, why);
}

static void search_failed(struct hf_core *core, struct hf_own_ticket *ticket)
{
    hf_enqueue_order_failed(core, &ticket->acquisition->own.turn);
}

static void failed(struct hf_core *core, struct hf_own_ticket *ticket,
                   const struct hf_error *why, enum hf_own_ticket_end end)
{
    struct hf_acquisition *a = ticket->acquisition;
    struct hf_error kept;

    if (why == NULL) {
        hf_error_set(&kept, a->status, "%s", hf_acquisition_text(a));
        why = &kept;
    }
    try_again(core, a, why, end);
}

static void refused(struct hf_core *core, struct hf_own_ticket *ticket,
                    const struct hf_error *why)
{
    hf_acquisition_give_up(core, ticket->acquisition, why);
}

/* The wait was given up, and the enqueue of the ticket got no answer. */
static void unanswered(struct hf_core *core, struct hf_own_ticket *ticket)
{
    hf_own_ticket_unask(core, ticket);
    hf_own_ticket_remove_unanswered(core, ticket, true);
    drop_ticket(core, ticket->acquisition);
}

static void not_removed(struct hf_core *core, struct hf_own_ticket *ticket,
                        const struct hf_error *why)
{
    struct hf_acquisition *a = ticket->acquisition;
    bool concerns =
        ticket == a->own.ticket || hf_acquisition_waits_for_removal(a);
    bool is_notified =
        (a->state == STATE(RELEASING) && a->status == HF_OK) ||
        (a->state == STATE(GIVING_UP) && hf_acquisition_waits_for_removal(a));

    (void)hf_text_keep(&core->messages, &a->own.denial, why->text);
    if (concerns && is_notified && !a->notified)
        hf_acquisition_keep_message(core, a, why);
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
    assert(!a->own.downgrading && hf_acquisition_is_of_user(a));
    a->own.downgrading = true;
    if (a->state == STATE(HELD))
        hf_own_ticket_downgrade(a->own.ticket);
    hf_acquisition_pump(core, a);
}

static void notify_downgrade(struct hf_core *core, struct hf_acquisition *a,
                             hf_status status)
{
    a->own.downgrading = false;
    a->user.downgrade_status = status;
    hf_effect_add(&core->effects, &a->user.waiting, HF_EFFECT_DOWNGRADED);
}

/* Once it is HELD no more, a downgrade that is under way ends.  Not earlier
 * than in a pump: whoever else loses a grant is told that first. */
static void end_downgrade(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->own.downgrading || a->state == STATE(HELD))
        return;
    hf_own_ticket_unask(core, a->own.ticket);
    notify_downgrade(core, a,
                     a->state == STATE(LOST) ? HF_ELOST : HF_ECANCELLED);
}

static void downgraded(struct hf_core *core, struct hf_own_ticket *ticket,
                       const struct hf_error *why)
{
    struct hf_acquisition *a = ticket->acquisition;

    if (why != NULL)
        hf_acquisition_keep_message(core, a, why);
    else
        a->kind = HF_TICKET_READ;
    notify_downgrade(core, a, why != NULL ? why->status : HF_OK);
}

static const struct hf_ticket_owner ticket_owner = {
    .queued = queued,
    .placed = placed,
    .may_wait = may_wait,
    .waiting = waiting,
    .granted = granted,
    .revoked = revoked,
    .lost = lost,
    .evicted = evicted,
    .unsure = unsure,
    .search_failed = search_failed,
    .failed = failed,
    .refused = refused,
    .downgraded = downgraded,
    .unanswered = unanswered,
    .not_removed = not_removed,
    .changed = hf_acquisition_pump,
};

/* ----------------------------------------------------------- another try -- */

static struct hf_own_ticket *new_ticket(struct hf_acquisition *a)
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
    struct hf_own_ticket *ticket = hf_own_ticket_new(&spec, &ticket_owner);

    if (ticket == NULL)
        return NULL;
    ticket->acquisition = a;
    ticket->entry = &a->entry;
    return ticket;
}

/* See that there is a ticket to ask for.  Without the memory for it that fails
 * as if the engine had none. */
static bool make_ticket(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    if (a->own.ticket == NULL)
        a->own.ticket = new_ticket(a);
    if (a->own.ticket != NULL)
        return true;
    hf_error_set(&why, HF_ENOMEM, "no memory for a ticket");
    try_again(core, a, &why, HF_OWN_TICKET_NEVER_WAS);
    return false;
}

static bool may_try(const struct hf_core *core, const struct hf_acquisition *a)
{
    return core->now_ms >= a->own.enqueue_at_ms &&
           hf_acquisition_can_enqueue(a);
}

/* A lease enters its queue only once there was room: what stands in it is what
 * is held. */
static void pump_try(struct hf_core *core, struct hf_acquisition *a)
{
    bool looks = hf_rule_of(a->kind)->has_room != NULL;

    if (a->own.ticket != NULL && a->own.ticket->state != HF_OWN_TICKET_LOOKING)
        return;
    if (looks && (!may_try(core, a) || !make_ticket(core, a) ||
                  !hf_own_ticket_looking(a->own.ticket)->room))
        return;
    if (!may_try(core, a) ||
        hf_enqueue_order_before(core, &a->own.turn) != NULL ||
        !make_ticket(core, a))
        return;
    hf_own_ticket_enqueue(core, a->own.ticket);
    hf_acquisition_update_order(core, a);
    hf_enqueue_order_asked(core, &a->own.turn);
}

static void pump(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->owner->changed != NULL)
        a->owner->changed(core, a);
    a->own.pumped_ms = core->now_ms;
    hf_acquisition_update_order(core,
                                a); /* another ticket may be possible again */
    if (a->state == STATE(WAITING) && hf_session_usable(&core->session))
        pump_try(core, a);
    end_downgrade(core, a);
    if (a->own.ticket != NULL)
        hf_own_ticket_pump(core, a->own.ticket);
    FOR_EACH_EARLIER(a, ticket)
    hf_own_ticket_pump(core, ticket);
    free_over(core, a);
    hf_acquisition_finish(core, a);
}

/* --------------------------------------------------------------- the end -- */

static void begin(struct hf_core *core, struct hf_acquisition *a)
{
    hf_acquisition_schedule(core, a);
    hf_acquisition_link(core, a);
}

static void leave(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->own.ticket == NULL || a->state == STATE(LOST))
        return;
    if (a->own.ticket->state == HF_OWN_TICKET_UNSURE)
        unanswered(core, a->own.ticket);
    else
        hf_own_ticket_remove(core, a->own.ticket);
}

static bool may_remain(const struct hf_acquisition *a)
{
    bool may = may_exist(a->own.ticket);

    FOR_EACH_EARLIER(a, ticket)
    may |= may_exist(ticket);
    return may;
}

bool hf_acquisition_awaits_removal(const struct hf_acquisition *a)
{
    bool awaits =
        a->own.ticket != NULL && hf_own_ticket_awaits_removal(a->own.ticket);

    FOR_EACH_EARLIER(a, ticket)
    awaits |= hf_own_ticket_awaits_removal(ticket);
    return awaits;
}

static bool must_wait(const struct hf_acquisition *a)
{
    if (a->state == STATE(GIVING_UP) && !hf_acquisition_waits_for_removal(a))
        return hf_acquisition_awaits_removal(a);
    if (a->status == HF_EDENIED)
        return false;
    return hf_acquisition_waits_for_removal(a) ? may_remain(a)
                                               : may_exist(a->own.ticket);
}

/* Invariant 13: HF_OK only if an answer confirmed the removal of our own
 * ticket. Otherwise the ticket may have been gone, and somebody else admitted,
 * before the owner released it. */
static hf_status release_status(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    if (a->own.ticket->removal.found)
        return HF_OK;
    hf_error_set(&why, HF_ELOST,
                 "the engine did not confirm that this release removed the "
                 "ticket; somebody else may have been admitted before it");
    hf_acquisition_keep_message(core, a, &why);
    return HF_ELOST;
}

static void finish(struct hf_core *core, struct hf_acquisition *a)
{
    forget_tickets(core, a);
    hf_acquisition_unlink(core, a);
}

static bool place(struct hf_core *core, struct hf_acquisition *a,
                  const struct hf_acquisition **at)
{
    (void)core;
    *at = a;
    return false;
}

/* --------------------------------------------------------------- session -- */

/* A new connection begins the retries anew, because neither an outage nor what
 * it took with it is a failure of the engine. */
static void connected(struct hf_core *core, struct hf_acquisition *a)
{
    a->own.enqueue_retry = (struct hf_retry_state){0};
    if (a->own.ticket != NULL)
        hf_own_ticket_connected(core, a->own.ticket);
}

/* Invariant 9: an acquisition that waits goes on with another ticket in the
 * next session. */
static void session_over(struct hf_core *core, struct hf_acquisition *a)
{
    bool waiting = hf_acquisition_is_waiting(a);

    if (waiting && hf_acquisition_is_queued(a))
        hf_acquisition_displaced(a);
    if (a->own.ticket != NULL)
        hf_own_ticket_session_over(core, a->own.ticket);
    FOR_EACH_EARLIER(a, ticket)
    hf_own_ticket_session_over(core, ticket);
    end_downgrade(core, a);
    if (waiting && a->own.ticket != NULL) {
        a->own.enqueue_at_ms = 0;
        drop_ticket(core, a);
    }
    free_over(core, a);
    a->own.turn.known = false;
    hf_acquisition_update_order(core, a); /* another ticket is possible */
}

const struct hf_acquisition_ops hf_acquisition_by_ticket = {
    .takes_tickets = true,
    .begin = begin,
    .pump = pump,
    .connected = connected,
    .session_over = session_over,
    .leave = leave,
    .must_wait = must_wait,
    .may_remain = may_remain,
    .release_status = release_status,
    .may_finish = are_finished,
    .finish = finish,
    .place = place,
};

/* -------------------------------------------------------------- from others --
 */

bool hf_acquisition_is_over(const struct hf_acquisition *a)
{
    const struct hf_own_ticket *in_force = hf_acquisition_ticket(a);
    bool over = in_force == NULL || hf_own_ticket_is_over(in_force);

    FOR_EACH_EARLIER(a, ticket)
    over &= hf_own_ticket_is_over(ticket);
    return a->state == STATE(IDLE) || (a->state == STATE(DONE) && over);
}

/* What is held stays; who waits looks again. */
void hf_acquisition_set_limit(struct hf_core *core, struct hf_acquisition *a,
                              uint32_t limit)
{
    assert(a->kind == HF_TICKET_LEASE);
    hf_schedule_touch(core, &a->entry);
    a->limit = limit;
    if (a->own.ticket != NULL)
        hf_own_ticket_set_limit(core, a->own.ticket, limit);
}

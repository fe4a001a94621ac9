/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The position of a ticket of ours, and what it means: the rule of its kind is
 * applied to a list of the queue, and then the ticket is admitted, waits, or
 * its wait ends.  No list is needed if the last ticket that blocked is gone and
 * nobody can have come ahead meanwhile, nor if the engine says that ours is the
 * first one.
 */
#include "core/own_ticket.h"

#include <assert.h>
#include <stdio.h>

#include "base/error.h"
#include "base/time_math.h"
#include "core/admission.h"
#include "core/core_state.h"

#define STATE(name) HF_OWN_TICKET_##name

/* ------------------------------------------------------------- the rule -- */

/* The properties of ${ticket} that rules read. */
static struct hf_admission_ticket rule_input(const struct hf_own_ticket *ticket)
{
    return (struct hf_admission_ticket){.id = ticket->id,
                                        .kind = ticket->spec.kind,
                                        .weight = ticket->spec.weight,
                                        .limit = ticket->spec.limit,
                                        .token = ticket->token};
}

/* --------------------------------------------------------- the position -- */

/* QUEUED: the ticket can be admitted as ${to} says. */
static void move_position(struct hf_own_ticket *ticket,
                          enum hf_queue_position to)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);

    assert(to != HF_POSITION_NEW);
    assert((to != HF_POSITION_BEHIND && to != HF_POSITION_NEXT) ||
           queued->blocking > 0);
    assert((to != HF_POSITION_CLEAR && to != HF_POSITION_ADMISSIBLE) ||
           queued->blocking == 0);
    queued->position = to;
}

void hf_own_ticket_stale(struct hf_own_ticket *ticket)
{
    move_position(ticket, HF_POSITION_STALE);
}

/* What a watch needs to know of ${ticket}. */
static struct hf_watched_ticket watched_of(const struct hf_ticket *ticket)
{
    return (struct hf_watched_ticket){ticket->id, ticket->kind};
}

/* QUEUED: keep which tickets ahead to watch.  A reader watches only the nearest
 * one: any number of readers may wait for one writer, and if each watched the
 * ticket ahead of that writer too, the end of that ticket would wake them all.
 */
static void keep_ahead(const struct hf_core *core, struct hf_own_ticket *ticket,
                       const struct hf_admission *admission)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);

    assert(admission->second == NULL || admission->nearest != NULL);
    queued->ahead_count = 0;
    if (admission->nearest != NULL)
        queued->ahead[queued->ahead_count++] = watched_of(admission->nearest);
    if (admission->second != NULL && ticket->spec.kind != HF_TICKET_READ &&
        core->config.traits & HF_ENGINE_WATCHES_TWO)
        queued->ahead[queued->ahead_count++] = watched_of(admission->second);
}

/* QUEUED: keep what the rule has found, and report the position. */
static void keep_position(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_admission_decision *decision)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    const struct hf_admission *admission = &decision->admission;

    assert(admission->answer != HF_WAIT_FOR || admission->blocking > 0);
    ticket->listener->position_changed(core, ticket, admission->ahead,
                                       decision->holder);
    queued->blocking = admission->blocking;
    keep_ahead(core, ticket, admission);
    queued->generation_wanted = decision->starts_generation;
    if (admission->answer != HF_WAIT_FOR)
        return;
    if (core->session.state != HF_STATE_CONNECTED)
        move_position(ticket, HF_POSITION_STALE);
    else if (admission->gone_admits &&
             core->config.traits & HF_ENGINE_GONE_ADMITS)
        move_position(ticket, HF_POSITION_NEXT);
    else
        move_position(ticket, HF_POSITION_BEHIND);
}

/* ------------------------------------------------------------ admission -- */

/* QUEUED, and nothing blocks the ticket, but the session is not proven for long
 * enough. */
static void await_proof(const struct hf_core *core,
                        struct hf_own_ticket *ticket)
{
    if (core->session.state != HF_STATE_CONNECTED)
        move_position(ticket, HF_POSITION_STALE);
    else if (ticket->rule->admission_is_final)
        move_position(ticket, HF_POSITION_ADMISSIBLE);
    else
        move_position(ticket, HF_POSITION_CLEAR);
}

/* Invariant 1: a ticket is HELD only when the rule has found nobody that blocks
 * it, and the session is proven for long enough.  Without that proof it waits:
 * hf_own_ticket_proven() comes here again. */
void hf_own_ticket_admit(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    bool at_once = queued->position == HF_POSITION_NEW;
    bool revoked = queued->revoked;

    assert(ticket->session == core->session.number);
    assert(ticket->spec.kind != HF_TICKET_PARTICIPANT ||
           ticket->generation > ticket->token);
    queued->blocking = 0;
    hf_session_want_proof(&core->session, core->now_ms);
    if (!hf_session_may_admit(&core->session, core->now_ms)) {
        await_proof(core, ticket);
        return;
    }
    hf_own_ticket_cancel_question(core, ticket);
    ticket->list_wanted = false;
    /* The watch of itself is then requested by a TICK, which
     * hf_own_ticket_request_at_ms() asks for. */
    if (at_once)
        ticket->watch_at_ms = hf_after_ms(core->now_ms, HF_OWN_WATCH_AFTER_MS);
    hf_own_ticket_move(core, ticket, STATE(HELD));
    ticket->in.held = (struct hf_own_ticket_held){.stale = false};
    ticket->listener->granted(core, ticket, revoked);
}

/* If the rule has admitted the ticket for good, and its own watch says that it
 * is still there, it is admitted now.  Else the queue is listed first, because
 * it may have changed since. */
void hf_own_ticket_proven(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);

    assert(queued->blocking == 0);
    if (queued->position == HF_POSITION_STALE ||
        !hf_session_may_admit(&core->session, core->now_ms))
        return;
    /* A list might take longer than the proof lasts. */
    if (queued->position == HF_POSITION_ADMISSIBLE &&
        hf_ticket_watches_is_set(&ticket->watches, &ticket->id))
        hf_own_ticket_admit(core, ticket);
    else if (!hf_own_ticket_has_question(
                 ticket)) /* a list under way is enough */
        ticket->list_wanted = true;
    ticket->listener->changed(core, ticket->acquisition);
}

/* -------------------------------------------------- the end of the wait -- */

/* The lock that tickets of each kind belong to, for error texts. */
static const char *const lock_texts[] = {
    [HF_TICKET_MUTEX] = "a mutex",
    [HF_TICKET_READ] = "a read/write lock",
    [HF_TICKET_WRITE] = "a read/write lock",
    [HF_TICKET_LEASE] = "a semaphore",
    [HF_TICKET_ELECTION] = "an election",
    [HF_TICKET_EXCLUSIVE] = "a mutex",
};

/* The text of the lock that a ticket belongs to.  An entry mutex belongs to a
 * semaphore. */
static const char *lock_text(const struct hf_ticket_id *id,
                             enum hf_ticket_kind kind)
{
    bool is_entry = hf_ticket_id_role(id) == HF_ROLE_ENTRY;

    return lock_texts[is_entry ? HF_TICKET_LEASE : kind];
}

/* End the wait with HF_EKIND: the ticket ${ahead} belongs to another kind of
 * lock, which uses this name. */
static void end_wrong_kind(struct hf_core *core, struct hf_own_ticket *ticket,
                           const struct hf_ticket *ahead)
{
    const struct hf_ticket_spec *spec = &ticket->spec;
    struct hf_error why;
    char name[256] = "the name", by[256] = "";

    if (spec->role == HF_ROLE_ENTRY || spec->kind == HF_TICKET_LEASE)
        (void)snprintf(name, sizeof name,
                       "\"%.200s\", where this semaphore has its tickets,",
                       spec->queue);
    /* Engines need give only the payload of the first ticket. */
    if (ahead->payload[0] != '\0')
        (void)snprintf(by, sizeof by, " (by \"%.200s\")", ahead->payload);
    hf_error_set(&why, HF_EKIND,
                 "%s is in use as %s%s, and this is %s; use another name or "
                 "the same kind of lock",
                 name, lock_text(&ahead->id, ahead->kind), by,
                 lock_text(&ticket->id, spec->kind));
    ticket->listener->refused(core, ticket, &why);
}

/* --------------------------------------------------------- the decision -- */

/* Report that the ticket waits, and when to report that again. */
static void report_waiting(struct hf_core *core, struct hf_own_ticket *ticket)
{
    uint64_t every_ms = ticket->spec.report_every_ms;

    assert(ticket->state == STATE(QUEUED) ||
           (ticket->state == STATE(UNQUEUED) && ticket->queue_watch != NULL));
    if (ticket->state == STATE(QUEUED))
        ticket->in.queued.report_at_ms =
            every_ms == 0 ? HF_FOREVER : hf_after_ms(core->now_ms, every_ms);
    ticket->listener->waiting(core, ticket);
}

/* A ticket that the list does not show was removed by somebody.  It is reported
 * as evicted, and a REMOVE is requested in case the list is wrong. */
void hf_own_ticket_decide(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    struct hf_admission_ticket input = rule_input(ticket);
    struct hf_admission_decision decision =
        ticket->rule->decide(&input, snapshot);

    if (decision.admission.answer == HF_MISSING) {
        hf_own_ticket_remove_unlisted(core, ticket);
        ticket->listener->evicted(core, ticket);
        return;
    }
    keep_position(core, ticket, &decision);
    if (decision.admission.answer == HF_WRONG_KIND) {
        end_wrong_kind(core, ticket, decision.admission.nearest);
        return;
    }
    if (decision.admission.answer == HF_ADMITTED) {
        ticket->generation = decision.generation;
        hf_own_ticket_admit(core, ticket);
    } else if (!decision.starts_generation &&
               !ticket->listener->may_wait(core, ticket)) {
        return;
    }
    if (ticket->state != STATE(QUEUED))
        return;
    if (queued->blocking <= 1)
        hf_session_want_proof_unless_lazy(&core->session, core->now_ms);
    report_waiting(core, ticket);
}

/* Invariant 2: the token is that of this ticket, as the queue has it.  Another
 * try is another ticket with another token. */
void hf_own_ticket_joined(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot)
{
    size_t position = hf_snapshot_find(snapshot, &ticket->id);
    struct hf_error why;

    assert(ticket->state == STATE(ENQUEUING) || ticket->state == STATE(UNSURE));
    if (position == snapshot->count) {
        hf_error_set(&why, HF_EPROTOCOL,
                     "the ticket was gone as soon as it was in the queue; see "
                     "who removes tickets there");
        ticket->listener->failed(core, ticket, &why, HF_OWN_TICKET_UNLISTED);
        return;
    }
    ticket->token = snapshot->tickets[position].token;
    hf_own_ticket_move(core, ticket, STATE(QUEUED));
    ticket->in.queued =
        (struct hf_own_ticket_queued){.report_at_ms = HF_FOREVER};
    ticket->listener->queued(core, ticket);
    hf_own_ticket_decide(core, ticket, snapshot);
}

/* The ticket ${gone} is ahead no more.  Watches of an older position were taken
 * back, so their events do not get here. */
static void forget_ahead(struct hf_own_ticket_queued *queued,
                         const struct hf_ticket_id *gone)
{
    bool nearest = hf_ticket_id_equal(gone, &queued->ahead[0].id);

    assert(queued->ahead_count > 0 && queued->blocking >= queued->ahead_count);
    assert(nearest || (queued->ahead_count == HF_AHEAD_MAX &&
                       hf_ticket_id_equal(gone, &queued->ahead[1].id)));
    if (nearest)
        queued->ahead[0] = queued->ahead[1];
    queued->ahead_count--;
    queued->blocking--;
}

/* If the ticket is NEXT and nothing blocks it any more, it is admitted: nobody
 * can have come ahead, because the engine has HF_ENGINE_GONE_ADMITS, the rule
 * allows it, and there was no outage since the last list.  If the engine says
 * that it is the first one, only such an outage matters.  Unless it is HELD
 * then, the queue is listed to learn the new position. */
void hf_own_ticket_ahead_gone(struct hf_core *core,
                              struct hf_own_ticket *ticket,
                              const struct hf_ticket_id *gone, bool is_first)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    bool listed_since = queued->position != HF_POSITION_STALE &&
                        core->session.state == HF_STATE_CONNECTED;
    bool admits =
        listed_since && (is_first || queued->position == HF_POSITION_NEXT);

    forget_ahead(queued, gone);
    if (is_first && listed_since)
        queued->blocking = queued->ahead_count = 0;
    if (queued->blocking == 0 && admits)
        hf_own_ticket_admit(core, ticket);
    else if (queued->blocking == 0 && queued->position != HF_POSITION_STALE)
        move_position(ticket, HF_POSITION_CLEAR);
    if (ticket->state != STATE(QUEUED))
        return;
    if (queued->blocking == 1)
        hf_session_want_proof_unless_lazy(&core->session, core->now_ms);
    ticket->list_wanted = true;
}

/* ------------------------------------------------------------ the queue -- */

/* A lease that is not enqueued yet looks for room.  A ticket of another kind
 * among the leases ends the wait. */
void hf_own_ticket_queue_listed(struct hf_core *core,
                                struct hf_own_ticket *ticket,
                                const struct hf_snapshot *snapshot)
{
    struct hf_admission_ticket input = rule_input(ticket);

    assert(ticket->rule->watches_queue);
    if (ticket->state == STATE(QUEUED)) {
        hf_own_ticket_decide(core, ticket, snapshot);
        return;
    }
    /* One that comes later is refused itself, and ends no wait. */
    if (hf_admission_not_a_lease(snapshot) != NULL &&
        !hf_own_ticket_unqueued(ticket)->listed) {
        end_wrong_kind(core, ticket, hf_admission_not_a_lease(snapshot));
        return;
    }
    hf_own_ticket_unqueued(ticket)->listed = true;
    hf_own_ticket_unqueued(ticket)->has_room =
        ticket->rule->has_room(&input, snapshot);
    if (ticket->in.unqueued.has_room)
        return;
    ticket->listener->position_changed(
        core, ticket, snapshot->count,
        snapshot->count == 0 ? "" : snapshot->tickets[0].payload);
    if (ticket->listener->may_wait(core, ticket))
        report_waiting(core, ticket);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers to the requests of a ticket of ours, and the events of its
 * watches.  They change its state, report to its listener, and note what is
 * wanted next; own_ticket_requests.c sends the request for that.
 */
#include "core/own_ticket.h"

#include <assert.h>

#include "base/error.h"
#include "core/admission.h"
#include "core/core_state.h"

#define STATE(name) HF_OWN_TICKET_##name

/* Set ${why} to the failure that ${event} reports. */
static void error_of(struct hf_error *why, const struct hf_event *event)
{
    hf_status status = event->as.answer.status;

    hf_error_set(why, status == HF_OK ? HF_EPROTOCOL : status, "%s",
                 event->as.answer.text);
}

/* Will no retry succeed? */
static bool is_fatal(const struct hf_event *event)
{
    return event->as.answer.failure == HF_FAILURE_FATAL;
}

/* End the wait with the failure that ${event} reports. */
static void end_wait(struct hf_core *core, struct hf_own_ticket *ticket,
                     const struct hf_event *event)
{
    struct hf_error why;

    error_of(&why, event);
    ticket->listener->refused(core, ticket, &why);
}

/* The answer to the ENQUEUE.  If the wait was given up meanwhile, remove the
 * ticket. */
static void enqueued(struct hf_core *core, struct hf_own_ticket *ticket,
                     const struct hf_snapshot *snapshot)
{
    assert(ticket->state == STATE(ENQUEUING) ||
           ticket->state == STATE(REMOVING));
    if (ticket->state == STATE(ENQUEUING))
        hf_own_ticket_joined(core, ticket, snapshot);
    else
        hf_own_ticket_remove(core, ticket);
}

/* The ENQUEUE failed, for sure or perhaps.  In the latter case a LIST searches
 * for the ticket: UNSURE. */
static void enqueue_failed(struct hf_core *core, struct hf_own_ticket *ticket,
                           const struct hf_event *event)
{
    bool unsure = event->as.answer.failure == HF_FAILURE_UNSURE;
    struct hf_error why;

    assert(ticket->state == STATE(ENQUEUING) ||
           ticket->state == STATE(REMOVING));
    if (ticket->state != STATE(ENQUEUING)) { /* given up meanwhile */
        if (unsure)
            ticket->listener->unanswered(core, ticket);
        else
            hf_own_ticket_move(core, ticket, STATE(GONE));
        return;
    }
    if (is_fatal(event)) {
        end_wait(core, ticket, event);
        return;
    }
    error_of(&why, event);
    if (!unsure) {
        ticket->listener->failed(core, ticket, &why, HF_OWN_TICKET_NOT_CREATED);
        return;
    }
    ticket->listener->unsure(core, ticket, &why);
    ticket->list_wanted = true;
    ticket->list_at_ms = 0;
    hf_own_ticket_move(core, ticket, STATE(UNSURE));
}

/* UNSURE: the list that searches for the ticket has come.  If it does not show
 * the ticket, the ticket may still appear for one session timeout; in an engine
 * without leases it was never created. */
static void search_done(struct hf_core *core, struct hf_own_ticket *ticket,
                        const struct hf_snapshot *snapshot)
{
    bool may_appear = core->session.timeout_ms != HF_FOREVER;

    assert(ticket->state == STATE(UNSURE));
    if (hf_snapshot_find(snapshot, &ticket->id) != snapshot->count)
        hf_own_ticket_joined(core, ticket, snapshot);
    else
        ticket->listener->failed(core, ticket, NULL,
                                 may_appear ? HF_OWN_TICKET_MAY_APPEAR
                                            : HF_OWN_TICKET_NOT_CREATED);
}

/* Why a grant is lost if its ticket is not in the queue any more. */
static const char evicted_text[] =
    "its ticket was taken out of the queue: somebody evicted it, or deleted it "
    "where the engine keeps it";

/* The same, if the ticket may have become a reader's. */
static const char unknown_text[] =
    "its ticket is not in the queue as a writer's any more: a downgrade that "
    "was "
    "not answered was done, or somebody removed it";

/* The same, if a list that was requested after an outage does not show the
 * ticket. */
static const char missing_text[] =
    "its ticket is not in the queue any more: somebody evicted it, or deleted "
    "it where the engine keeps it, or the engine forgot it, in a restart or a "
    "failover";

/* HELD: a list was requested to see whether the ticket is still there. */
static void confirm(struct hf_core *core, struct hf_own_ticket *ticket,
                    const struct hf_snapshot *snapshot)
{
    assert(ticket->state == STATE(HELD));
    if (hf_snapshot_find(snapshot, &ticket->id) != snapshot->count)
        ticket->in.held.stale = false;
    else /* also remove the ticket, in case the list is wrong */
        ticket->listener->lost(core, ticket, true, missing_text);
}

/* The answer to a LIST: its meaning depends on the state. */
static void listed(struct hf_core *core, struct hf_own_ticket *ticket,
                   const struct hf_snapshot *snapshot)
{
    ticket->list_tries = 0;
    if (ticket->list_wanted)
        return; /* out of date already; the pump lists again */
    if (ticket->state == STATE(UNSURE))
        search_done(core, ticket, snapshot);
    else if (ticket->state == STATE(QUEUED))
        hf_own_ticket_decide(core, ticket, snapshot);
    else if (ticket->state == STATE(HELD))
        confirm(core, ticket, snapshot);
}

/* HELD, and the list that should confirm the ticket failed for good, so nobody
 * may rely on the ticket.  If the failure lasts, the next ticket fails too, and
 * the wait ends with that error. */
static void lose_unconfirmed(struct hf_core *core, struct hf_own_ticket *ticket,
                             const struct hf_event *event)
{
    const char *text = event->as.answer.text;

    assert(ticket->state == STATE(HELD) && ticket->in.held.stale);
    ticket->listener->lost(
        core, ticket, true,
        text[0] != '\0' ? text : hf_status_text(event->as.answer.status));
}

/* The LIST failed: repeat it; or end the wait, or the grant that the list
 * should have confirmed. */
static void list_failed(struct hf_core *core, struct hf_own_ticket *ticket,
                        const struct hf_event *event)
{
    bool held = ticket->state == STATE(HELD) && ticket->in.held.stale;

    if (ticket->state != STATE(UNSURE) && ticket->state != STATE(QUEUED) &&
        !held)
        return;
    if (is_fatal(event) && held) {
        lose_unconfirmed(core, ticket, event);
        return;
    }
    if (is_fatal(event)) {
        end_wait(core, ticket, event);
        return;
    }
    if (ticket->state == STATE(UNSURE))
        ticket->listener->search_failed(core, ticket);
    ticket->list_wanted = true;
    ticket->list_at_ms = hf_core_retry_at_ms(core, &ticket->list_tries);
}

/* Can a part of the ticket be left when it is gone?  Yes if it had several
 * permits, because somebody may have removed only some of them.  Nobody holds
 * those that are left, so they must be removed too. */
static bool may_leave_permits(const struct hf_own_ticket *ticket)
{
    return ticket->spec.kind == HF_TICKET_LEASE && ticket->spec.weight > 1;
}

/* HELD, and the ticket is not in the queue with its kind any more.  After a
 * downgrade of unknown outcome it may be there as a read ticket: remove it. */
static void hold_gone(struct hf_core *core, struct hf_own_ticket *ticket,
                      const char *why)
{
    bool unknown = ticket->in.held.downgrade == HF_DOWNGRADE_UNKNOWN;

    assert(ticket->state == STATE(HELD));
    ticket->listener->lost(core, ticket, unknown || may_leave_permits(ticket),
                           unknown ? unknown_text : why);
}

/* A watched ticket is gone: our own, or one that blocks ours. */
static void gone(struct hf_core *core, struct hf_own_ticket *ticket,
                 const struct hf_event *event)
{
    struct hf_request *request = event->as.answer.request;
    const char *text = event->as.answer.text;
    struct hf_ticket_id id = request->ticket;
    bool itself = hf_ticket_id_equal(&id, &ticket->id);
    bool is_first = hf_ticket_id_equal(&event->as.answer.first, &ticket->id);
    bool says_why = text != NULL && text[0] != '\0';

    if (!hf_ticket_watches_end(&ticket->watches, &core->effects, request))
        return;
    if (ticket->state == STATE(HELD) && itself) {
        hold_gone(core, ticket, says_why ? text : evicted_text);
    } else if (ticket->state == STATE(QUEUED) && itself) {
        if (may_leave_permits(ticket))
            hf_own_ticket_remove_unlisted(core, ticket);
        ticket->listener->evicted(core, ticket);
    } else if (ticket->state == STATE(QUEUED)) {
        hf_own_ticket_ahead_gone(core, ticket, &id, is_first);
    }
}

/* Somebody asks for the release of our ticket.  If the ticket waits, its owner
 * is asked when it is granted.  The text of the ticket is written again, so
 * that people see that the owner was asked. */
static void revoked(struct hf_core *core, struct hf_own_ticket *ticket,
                    const struct hf_request *request)
{
    if (!hf_ticket_watches_is_wanted(&ticket->watches, request) ||
        !hf_ticket_id_equal(&request->ticket, &ticket->id))
        return;
    if (ticket->state == STATE(QUEUED) || ticket->state == STATE(HELD))
        hf_text_update_asked(ticket);
    if (ticket->state == STATE(QUEUED))
        ticket->in.queued.revoked = true;
    else if (ticket->state == STATE(HELD))
        ticket->listener->revoked(core, ticket);
}

/* A WATCH failed: repeat it, or end the wait. */
static void watch_failed(struct hf_core *core, struct hf_own_ticket *ticket,
                         const struct hf_event *event)
{
    if (!hf_ticket_watches_end(&ticket->watches, &core->effects,
                               event->as.answer.request))
        return;
    if (is_fatal(event) && ticket->state == STATE(QUEUED))
        end_wait(core, ticket, event);
    else
        ticket->watch_at_ms = hf_core_retry_at_ms(core, &ticket->watch_tries);
}

/* HELD, and the watch of the queue has shown another ticket, or can show none.
 */
static void contended(struct hf_core *core, struct hf_own_ticket *ticket)
{
    hf_own_ticket_held(ticket)->watches_queue = false;
    ticket->listener->contended(core, ticket);
}

/* The queue has changed.  A ticket that waits lists it again, by a new watch.
 */
static void queue_changed(struct hf_core *core, struct hf_own_ticket *ticket)
{
    hf_ticket_queue_watch_ended(ticket->queue_watch, &core->effects);
    if (ticket->state == STATE(HELD) && ticket->in.held.watches_queue)
        contended(core, ticket);
}

/* A WATCH_QUEUE was answered with a list that is wanted. */
static void queue_listed(struct hf_core *core, struct hf_own_ticket *ticket,
                         const struct hf_snapshot *snapshot)
{
    if (ticket->state != STATE(HELD))
        hf_own_ticket_queue_listed(core, ticket, snapshot);
    else if (snapshot->count > 1 ||
             hf_snapshot_find(snapshot, &ticket->id) == snapshot->count)
        contended(core, ticket);
}

/* A WATCH_QUEUE failed: repeat it, or end the wait. */
static void queue_watch_failed(struct hf_core *core,
                               struct hf_own_ticket *ticket,
                               const struct hf_event *event)
{
    struct hf_ticket_queue_watch *watch = ticket->queue_watch;

    hf_ticket_queue_watch_ended(watch, &core->effects);
    if (ticket->state == STATE(HELD) && ticket->in.held.watches_queue)
        contended(core, ticket);
    else if (is_fatal(event) && hf_own_ticket_wants_queue_watch(ticket))
        end_wait(core, ticket, event);
    else
        watch->at_ms = hf_core_retry_at_ms(core, &watch->tries);
}

/* The DESCRIBE failed.  Only people read the text, so a failure that lasts has
 * no consequence. */
static void describe_failed(struct hf_core *core, struct hf_own_ticket *ticket,
                            const struct hf_event *event)
{
    hf_text_update_failed(
        ticket->text_update, !is_fatal(event),
        hf_core_retry_at_ms(core, &ticket->text_update->tries));
}

/* The answer to a REMOVE.  GONE if nothing can appear any more. */
static void removal_done(struct hf_core *core, struct hf_own_ticket *ticket,
                         bool found)
{
    assert(ticket->state == STATE(REMOVING));
    hf_removal_done(core, ticket, found);
    if (ticket->in.removal.state == HF_REMOVAL_NONE)
        hf_own_ticket_move(core, ticket, STATE(GONE));
}

/* A REMOVE failed and is repeated.  If the engine refuses it, the ticket may
 * stay until the session is over.  The refusal is reported, so that nobody
 * waits that long. */
static void removal_failed(struct hf_core *core, struct hf_own_ticket *ticket,
                           const struct hf_event *event)
{
    struct hf_removal *removal = hf_own_ticket_removal(ticket);
    struct hf_error why;

    assert(ticket->state == STATE(REMOVING));
    hf_removal_failed(removal, hf_core_retry_at_ms(core, &removal->tries));
    error_of(&why, event);
    if (is_fatal(event) && event->as.answer.status == HF_EDENIED)
        ticket->listener->not_removed(core, ticket, &why);
}

/* NEW_GENERATION was answered or has failed.  A list shows what became of it.
 */
static void generation_answered(struct hf_own_ticket *ticket,
                                uint64_t list_at_ms)
{
    assert(ticket->spec.kind == HF_TICKET_PARTICIPANT);
    if (ticket->state != STATE(QUEUED))
        return;
    ticket->list_wanted = true;
    ticket->list_at_ms = list_at_ms;
}

/* NEW_GENERATION failed: list again after a backoff, or end the wait. */
static void generation_failed(struct hf_core *core,
                              struct hf_own_ticket *ticket,
                              const struct hf_event *event)
{
    if (is_fatal(event) && ticket->state == STATE(QUEUED))
        end_wait(core, ticket, event);
    else
        generation_answered(
            ticket, hf_core_retry_at_ms(core, &ticket->generation_tries));
}

/* The ticket is a read ticket. */
static void downgraded(struct hf_core *core, struct hf_own_ticket *ticket)
{
    if (ticket->state != STATE(HELD)) /* lost or released meanwhile */
        return;
    assert(ticket->in.held.downgrade == HF_DOWNGRADE_REQUESTED ||
           ticket->in.held.downgrade == HF_DOWNGRADE_UNSURE);
    ticket->in.held.downgrade = HF_DOWNGRADE_NONE;
    ticket->spec.kind = HF_TICKET_READ;
    ticket->rule = hf_admission_rule_of(HF_TICKET_READ);
    ticket->listener->downgraded(core, ticket, NULL);
}

/* The engine refuses the DOWNGRADE: the ticket stays a write ticket.  If the
 * answer to an earlier DOWNGRADE was lost, that may have been done and readers
 * may be in, so the owner must not count as a writer any more.  The ticket is
 * still watched as a write ticket, and may block others as one until it is
 * removed: that delays them, and admits nobody by mistake. */
static void downgrade_refused(struct hf_core *core,
                              struct hf_own_ticket *ticket,
                              const struct hf_event *event)
{
    struct hf_own_ticket_held *held = &ticket->in.held;
    bool unsure = held->downgrade == HF_DOWNGRADE_UNSURE;
    struct hf_error why;

    assert(unsure || held->downgrade == HF_DOWNGRADE_REQUESTED);
    held->downgrade = unsure ? HF_DOWNGRADE_UNKNOWN : HF_DOWNGRADE_NONE;
    if (unsure) {
        hf_error_set(&why, HF_EUNSURE,
                     "an answer was lost, and a further downgrade was refused: "
                     "%.300s; count as a reader, and release",
                     event->as.answer.text);
    } else {
        hf_error_set(&why, event->as.answer.status, "%s",
                     event->as.answer.text);
    }
    ticket->listener->downgraded(core, ticket, &why);
}

/* The DOWNGRADE failed: repeat it; or the ticket is gone; or it is refused. */
static void downgrade_failed(struct hf_core *core, struct hf_own_ticket *ticket,
                             const struct hf_event *event)
{
    struct hf_own_ticket_held *held = &ticket->in.held;

    if (ticket->state != STATE(HELD))
        return;
    if (event->as.answer.failure == HF_FAILURE_UNSURE)
        held->downgrade = HF_DOWNGRADE_UNSURE;
    if (!is_fatal(event)) {
        held->downgrade_at_ms =
            hf_core_retry_at_ms(core, &held->downgrade_tries);
    } else if (event->as.answer.status == HF_ELOST) {
        /* Also remove the ticket, in case the engine is wrong. */
        ticket->listener->lost(core, ticket, true, event->as.answer.text);
    } else {
        downgrade_refused(core, ticket, event);
    }
}

/* FAILED, by the kind of the request. */
static void failed(struct hf_core *core, struct hf_own_ticket *ticket,
                   const struct hf_event *event)
{
    switch (event->as.answer.request->kind) {
    case HF_REQUEST_ENQUEUE:
        enqueue_failed(core, ticket, event);
        break;
    case HF_REQUEST_LIST:
        list_failed(core, ticket, event);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        queue_watch_failed(core, ticket, event);
        break;
    case HF_REQUEST_WATCH:
        watch_failed(core, ticket, event);
        break;
    case HF_REQUEST_REMOVE:
        removal_failed(core, ticket, event);
        break;
    case HF_REQUEST_DOWNGRADE:
        downgrade_failed(core, ticket, event);
        break;
    case HF_REQUEST_DESCRIBE:
        describe_failed(core, ticket, event);
        break;
    case HF_REQUEST_NEW_GENERATION:
        generation_failed(core, ticket, event);
        break;
    case HF_REQUEST_PROVE:
    case HF_REQUEST_END:
    case HF_REQUEST_NAMES:
    case HF_REQUEST_EXAMINE:
    case HF_REQUEST_REVOKE:
    case HF_REQUEST_SET_FLAG:
    case HF_REQUEST_CLEAR_FLAG:
    case HF_REQUEST_READ_SUCCESS:
    case HF_REQUEST_WRITE_SUCCESS:
        assert(false && "a request of the session's or of an operation");
    }
}

/* LISTED, for a LIST or a WATCH_QUEUE. */
static void list_answered(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    if (event->as.answer.request->kind != HF_REQUEST_WATCH_QUEUE)
        listed(core, ticket, snapshot);
    else if (hf_ticket_queue_watch_listed(ticket->queue_watch) &&
             hf_own_ticket_wants_queue_watch(ticket))
        queue_listed(core, ticket, snapshot);
}

void hf_own_ticket_answered(struct hf_core *core, struct hf_own_ticket *ticket,
                            const struct hf_event *event)
{
    const struct hf_ticket_listener *listener = ticket->listener;
    struct hf_acquisition *a = ticket->acquisition;
    struct hf_request *request = event->as.answer.request;

    assert(request->own_ticket == ticket);
    assert(!request->effect.queued ||
           request->effect.kind == HF_EFFECT_UNWATCH);
    if (request == &ticket->request || request == ticket->question) {
        assert(request->busy);
        request->busy = false; /* it can be used again */
    }
    switch (event->kind) {
    case HF_EVENT_ENQUEUED:
        enqueued(core, ticket, &event->as.answer.snapshot);
        break;
    case HF_EVENT_LISTED:
        list_answered(core, ticket, event);
        break;
    case HF_EVENT_QUEUE_CHANGED:
        queue_changed(core, ticket);
        break;
    case HF_EVENT_WATCHING:
        request->busy = false;
        ticket->watch_tries = 0;
        break;
    case HF_EVENT_GONE:
        gone(core, ticket, event);
        break;
    case HF_EVENT_REVOKED:
        revoked(core, ticket, request);
        break;
    case HF_EVENT_REMOVED:
        removal_done(core, ticket, event->as.answer.found);
        break;
    case HF_EVENT_DOWNGRADED:
        downgraded(core, ticket);
        break;
    case HF_EVENT_DESCRIBED:
        hf_text_update_answered(ticket->text_update);
        break;
    case HF_EVENT_FLAG_UPDATED:
        ticket->generation_tries = 0;
        generation_answered(ticket, 0);
        break;
    case HF_EVENT_FAILED:
        failed(core, ticket, event);
        break;
    default:
        assert(false && "not an answer to a ticket");
    }
    listener->changed(core, a); /* which may free the ticket */
}

void hf_own_ticket_unwatched(struct hf_own_ticket *ticket,
                             struct hf_request *request)
{
    if (request->kind == HF_REQUEST_WATCH_QUEUE)
        hf_ticket_queue_watch_unwatched(ticket->queue_watch);
    else
        hf_ticket_watches_unwatched(&ticket->watches, request);
}

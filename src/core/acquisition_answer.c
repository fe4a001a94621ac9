/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the engine, by request and by state. */
#include "core/acquisition_private.h"

#include <assert.h>
#include <string.h>

#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"

static void story(struct hf_error *why, const struct hf_event *event)
{
    hf_status status = event->as.answer.status;

    hf_error_set(why, status == HF_OK ? HF_EPROTOCOL : status, "%s",
                 event->as.answer.text);
}

static void enqueued(struct hf_core *core, struct hf_acquisition *a,
                     const struct hf_snapshot *snapshot)
{
    if (a->state == STATE(ENQUEUING))
        hf_acquisition_placed(core, a, snapshot);
    else /* given up meanwhile */
        hf_withdrawals_begin_own(&a->withdrawals, &a->ticket);
}

static void enqueue_failed(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_event *event)
{
    bool unsure = event->as.answer.failure == HF_FAILURE_UNSURE;
    struct hf_error why;

    if (a->state != STATE(ENQUEUING)) { /* given up meanwhile */
        if (unsure)
            hf_acquisition_abandon(core, a, true);
        return;
    }
    story(&why, event);
    if (event->as.answer.failure == HF_FAILURE_FATAL) {
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    hf_acquisition_keep_story(core, a,
                              &why); /* told if no retry or time is left */
    if (unsure) {
        a->list_wanted = true;
        a->list_at_ms = 0;
        hf_acquisition_move(core, a, STATE(UNSURE));
    } else {
        hf_acquisition_enqueue_again(core, a, &why);
    }
}

/* Looked for the ticket of an enqueue without an answer. */
static void looked(struct hf_core *core, struct hf_acquisition *a,
                   const struct hf_snapshot *snapshot)
{
    struct hf_error why;

    if (hf_snapshot_find(snapshot, &a->ticket) != snapshot->count) {
        hf_acquisition_placed(core, a, snapshot);
        return;
    }
    hf_error_set(&why, a->status, "%s", hf_acquisition_text(a));
    if (core->session.timeout_ms != HF_FOREVER)
        hf_acquisition_abandon(core, a, false);
    hf_acquisition_enqueue_again(core, a, &why);
}

/* Why a grant is lost whose ticket is not in the queue any more. */
static const char taken_out[] =
    "its ticket was taken out of the queue: somebody evicted it, or deleted it "
    "where the engine keeps it";

static void listed(struct hf_core *core, struct hf_acquisition *a,
                   const struct hf_snapshot *snapshot)
{
    a->list_retry = (struct hf_retry_state){0};
    if (a->list_wanted)
        return; /* out of date already; the pump lists again */
    if (a->state == STATE(UNSURE))
        looked(core, a, snapshot);
    else if (a->state == STATE(QUEUED))
        hf_acquisition_decide(core, a, snapshot);
    else if (a->state == STATE(HELD) &&
             hf_snapshot_find(snapshot, &a->ticket) == snapshot->count)
        /* The ticket is removed as well, should the list be wrong. */
        hf_acquisition_lose(core, a, true, taken_out);
}

static void list_failed(struct hf_core *core, struct hf_acquisition *a,
                        const struct hf_event *event)
{
    struct hf_error why;

    if (a->state != STATE(UNSURE) && a->state != STATE(QUEUED))
        return;
    if (event->as.answer.failure == HF_FAILURE_FATAL) {
        story(&why, event);
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    if (a->state == STATE(UNSURE))
        hf_enqueue_order_failed(core, a);
    a->list_wanted = true;
    a->list_at_ms = hf_acquisition_again_at_ms(core, &a->list_retry);
}

/* Of several permits a part may have been taken and the rest be there: nobody
 * holds it any more, and it must not stay. */
static bool may_leave_a_rest(const struct hf_acquisition *a)
{
    return a->kind == HF_TICKET_LEASE && a->weight > 1;
}

/* ${why} is "" if nothing is known but that the ticket is gone. */
static void gone(struct hf_core *core, struct hf_acquisition *a,
                 struct hf_request *request, const char *why)
{
    struct hf_ticket_id id = request->ticket;
    bool own = hf_ticket_id_equal(&id, &a->ticket);

    if (!hf_watches_end(&a->watches, &core->effects, request))
        return;
    if (a->state == STATE(QUEUED) && own && may_leave_a_rest(a))
        hf_acquisition_disown(a);
    if (a->state == STATE(HELD) && own)
        hf_acquisition_lose(core, a, may_leave_a_rest(a),
                            why[0] != '\0' ? why : taken_out);
    else if (a->state == STATE(QUEUED) && own)
        hf_acquisition_evicted(core, a);
    else if (a->state == STATE(QUEUED))
        hf_acquisition_one_less(core, a, &id);
}

/* One who waits is asked as soon as there is something to let go. */
static void revoked(struct hf_core *core, struct hf_acquisition *a,
                    const struct hf_request *request)
{
    if (!hf_watches_heeds(&a->watches, request) ||
        !hf_ticket_id_equal(&request->ticket, &a->ticket))
        return;
    if (a->state == STATE(QUEUED) || a->state == STATE(HELD))
        hf_description_want(a);
    if (a->state == STATE(QUEUED))
        a->revoked = true;
    else if (a->state == STATE(HELD) && !a->loss_effect.queued)
        hf_acquisition_tell(core, a, &a->loss_effect, HF_EFFECT_REVOKED);
}

static void watch_failed(struct hf_core *core, struct hf_acquisition *a,
                         const struct hf_event *event)
{
    struct hf_error why;

    if (!hf_watches_end(&a->watches, &core->effects, event->as.answer.request))
        return;
    if (event->as.answer.failure == HF_FAILURE_FATAL &&
        a->state == STATE(QUEUED)) {
        story(&why, event);
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    a->watch_at_ms = hf_acquisition_again_at_ms(core, &a->watch_retry);
}

/* A ticket that we may not take out of the queue stays until the session is
 * over, however long its owner waits: he is told now, and it is tried on. */
static void withdrawal_denied(struct hf_core *core, struct hf_acquisition *a,
                              const struct hf_event *event)
{
    bool is_told = (a->state == STATE(RELEASING) && a->status == HF_OK) ||
                   (a->state == STATE(WITHDRAWING) && a->thorough);
    struct hf_error why;

    if (event->as.answer.failure != HF_FAILURE_FATAL ||
        event->as.answer.status != HF_EDENIED || a->told || !is_told)
        return;
    story(&why, event);
    hf_acquisition_keep_story(core, a, &why);
}

static void look_failed(struct hf_core *core, struct hf_acquisition *a,
                        const struct hf_event *event)
{
    struct hf_error why;

    hf_lookout_ended(a->lookout, &core->effects);
    if (event->as.answer.failure == HF_FAILURE_FATAL &&
        hf_acquisition_wants_room(a)) {
        story(&why, event);
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    a->lookout->at_ms = hf_acquisition_again_at_ms(core, &a->lookout->retry);
}

/* Nobody but people misses it: what may not be written is not written. */
static void describe_failed(struct hf_core *core, struct hf_acquisition *a,
                            const struct hf_event *event)
{
    bool again = event->as.answer.failure != HF_FAILURE_FATAL;

    hf_description_failed(
        a->description, &a->ticket, again,
        hf_acquisition_again_at_ms(core, &a->description->retry));
}

static void withdrawal_failed(struct hf_core *core, struct hf_acquisition *a,
                              const struct hf_event *event)
{
    struct hf_withdrawal *withdrawal =
        hf_withdrawals_find(&a->withdrawals, event->as.answer.request);
    bool own = withdrawal == a->withdrawals.own;

    hf_withdrawals_failed(&a->withdrawals, withdrawal,
                          hf_acquisition_again_at_ms(core, &withdrawal->retry));
    if (own || a->thorough)
        withdrawal_denied(core, a, event);
}

static void failed(struct hf_core *core, struct hf_acquisition *a,
                   const struct hf_event *event)
{
    switch (event->as.answer.request->kind) {
    case HF_REQUEST_ENQUEUE:
        a->ask.busy = false;
        enqueue_failed(core, a, event);
        break;
    case HF_REQUEST_LIST:
        a->ask.busy = false;
        list_failed(core, a, event);
        break;
    case HF_REQUEST_LOOK:
        look_failed(core, a, event);
        break;
    case HF_REQUEST_WATCH:
        watch_failed(core, a, event);
        break;
    case HF_REQUEST_WITHDRAW:
        withdrawal_failed(core, a, event);
        break;
    case HF_REQUEST_DOWNGRADE:
        a->ask.busy = false;
        hf_acquisition_downgrade_failed(core, a, event);
        break;
    case HF_REQUEST_DESCRIBE:
        describe_failed(core, a, event);
        break;
    case HF_REQUEST_STAMP:
        a->ask.busy = false;
        hf_acquisition_stamp_failed(core, a, event);
        break;
    case HF_REQUEST_PROVE:
    case HF_REQUEST_END:
    case HF_REQUEST_REVOKE:
    case HF_REQUEST_RAISE:
    case HF_REQUEST_LOWER:
        assert(false && "a request of the session's or of an inquiry");
    }
}

void hf_acquisition_answered(struct hf_core *core, struct hf_acquisition *a,
                             const struct hf_event *event)
{
    struct hf_request *request = event->as.answer.request;

    assert(request->acquisition == a);
    assert(!request->effect->queued ||
           request->effect->kind == HF_EFFECT_FORGET);
    switch (event->kind) {
    case HF_EVENT_ENQUEUED:
        assert(request == &a->ask && a->ask.busy);
        a->ask.busy = false;
        enqueued(core, a, &event->as.answer.snapshot);
        break;
    case HF_EVENT_LISTED:
        if (request->kind == HF_REQUEST_LOOK) {
            if (hf_lookout_listed(a->lookout) && hf_acquisition_wants_room(a))
                hf_acquisition_looked_for_room(core, a,
                                               &event->as.answer.snapshot);
            break;
        }
        assert(request == &a->ask && a->ask.busy);
        a->ask.busy = false;
        listed(core, a, &event->as.answer.snapshot);
        break;
    case HF_EVENT_CHANGED:
        hf_lookout_ended(a->lookout, &core->effects);
        break;
    case HF_EVENT_WATCHING:
        request->busy = false;
        a->watch_retry = (struct hf_retry_state){0};
        break;
    case HF_EVENT_GONE:
        gone(core, a, request,
             event->as.answer.text != NULL ? event->as.answer.text : "");
        break;
    case HF_EVENT_REVOKED:
        revoked(core, a, request);
        break;
    case HF_EVENT_WITHDRAWN:
        hf_withdrawals_done(&a->withdrawals,
                            hf_withdrawals_find(&a->withdrawals, request),
                            event->as.answer.found);
        break;
    case HF_EVENT_DOWNGRADED:
        assert(request == &a->ask && a->ask.busy);
        a->ask.busy = false;
        hf_acquisition_downgraded(core, a);
        break;
    case HF_EVENT_DESCRIBED:
        hf_description_done(a->description);
        break;
    case HF_EVENT_MARKED:
        assert(request == &a->ask && a->ask.busy);
        a->ask.busy = false;
        hf_acquisition_stamped(core, a);
        break;
    case HF_EVENT_FAILED:
        failed(core, a, event);
        break;
    default:
        assert(false && "not an answer to an acquisition");
    }
    hf_acquisition_pump(core, a);
}

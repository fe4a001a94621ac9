/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step of the core: takes in one event, passes it to the objects that it
 * concerns, and works off what they have noted.
 */
#include "core/core.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/time_math.h"
#include "core/cohort.h"
#include "core/core_session.h"

void hf_core_init(struct hf_core *core, const struct hf_core_config *config,
                  uint64_t now_ms)
{
    *core = (struct hf_core){.config = *config, .now_ms = now_ms};
    hf_effect_queue_init(&core->effects);
    hf_deferred_calls_init(&core->deferred);
    hf_enqueue_order_init(&core->order, hf_acquisition_is_asking);
    hf_ticket_table_init(&core->tickets);
    hf_removals_init(&core->removals);
    hf_session_init(&core->session, &core->effects,
                    hf_after_ms(now_ms, config->connect_ms), config->loss_at);
}

/* -------------------------------------------------------------- answers -- */

/* A list of ${queue} has come, for any request of this client.  If it shows a
 * ticket whose removal waits for the ticket to appear, request that removal.  A
 * list of a part of the queue may lack such a ticket; it is then removed when
 * it can appear no longer (removal.h). */
static void remove_appeared(struct hf_core *core, const char *queue,
                            const struct hf_snapshot *snapshot)
{
    struct hf_own_ticket *ticket = NULL;

    while ((ticket = hf_removals_find(core, queue, snapshot, ticket)) != NULL)
        hf_acquisition_pump(core, ticket->acquisition);
}

/* Pass the answer to the object that made the request. */
static void answered(struct hf_core *core, const struct hf_event *event)
{
    const struct hf_request *request = event->as.answer.request;
    struct hf_own_ticket *ticket = request->own_ticket;
    struct hf_operation *operation = request->operation;

    if (core->removals.waiting.root != NULL &&
        (event->kind == HF_EVENT_ENQUEUED || event->kind == HF_EVENT_LISTED))
        remove_appeared(core, request->queue, &event->as.answer.snapshot);
    if (ticket != NULL)
        hf_own_ticket_answered(core, ticket, event);
    else if (operation != NULL)
        hf_operation_answered(core, operation, event);
    else
        hf_core_session_event(core, event);
}

/* ----------------------------------------------------------------- step -- */

/* Does an event of this kind need the engine?  Then a client that gave up
 * connects again. */
static bool needs_engine(enum hf_event_kind kind)
{
    return kind == HF_EVENT_ACQUIRE || kind == HF_EVENT_START_OPERATION ||
           kind == HF_EVENT_RELEASE || kind == HF_EVENT_DOWNGRADE;
}

/* TICK: do what is due. */
static void tick(struct hf_core *core)
{
    hf_schedule_update(core);
    hf_schedule_tick(core);
    if (core->now_ms >= core->session.prove_at_ms)
        hf_core_prove(core);
}

/* ACQUIRE, by the user.  A multi-lock, or a waiter of a cohort, has its ops
 * already; only an hf_mutex uses a cohort (hf_lock_join_cohort()). */
static void start_acquisition(struct hf_core *core, struct hf_acquisition *a)
{
    a->listener = &hf_acquisition_user_listener;
    if (a->ops == NULL)
        a->ops = &hf_acquisition_ticket_ops;
    hf_acquisition_start(core, a);
}

/* Pass ${event} to what it is about. */
static void dispatch(struct hf_core *core, const struct hf_event *event)
{
    switch (event->kind) {
    case HF_EVENT_CONNECTED:
    case HF_EVENT_SUSPENDED:
    case HF_EVENT_RESUMING:
    case HF_EVENT_CONNECTION_ERROR:
    case HF_EVENT_GAVE_UP:
    case HF_EVENT_SESSION_LOST:
    case HF_EVENT_CLOSED:
    case HF_EVENT_PROVEN:
    case HF_EVENT_CHECK:
    case HF_EVENT_CLOSE:
        hf_core_session_event(core, event);
        break;
    case HF_EVENT_ENQUEUED:
    case HF_EVENT_LISTED:
    case HF_EVENT_QUEUE_CHANGED:
    case HF_EVENT_WATCHING:
    case HF_EVENT_GONE:
    case HF_EVENT_REMOVED:
    case HF_EVENT_DOWNGRADED:
    case HF_EVENT_FAILED:
    case HF_EVENT_REVOKED:
    case HF_EVENT_REVOKE_SENT:
    case HF_EVENT_DESCRIBED:
    case HF_EVENT_FLAG_UPDATED:
    case HF_EVENT_NAMED:
    case HF_EVENT_EXAMINED:
    case HF_EVENT_SUCCESS_READ:
    case HF_EVENT_SUCCESS_WRITTEN:
        answered(core, event);
        break;
    case HF_EVENT_ACQUIRE:
        start_acquisition(core, event->as.acquisition);
        break;
    case HF_EVENT_CANCEL:
        hf_acquisition_cancel(core, event->as.acquisition);
        break;
    case HF_EVENT_RELEASE:
        hf_acquisition_release(core, event->as.acquisition);
        break;
    case HF_EVENT_SET_LIMIT:
        hf_acquisition_set_limit(core, event->as.limit.acquisition,
                                 event->as.limit.permits);
        break;
    case HF_EVENT_DOWNGRADE:
        hf_acquisition_downgrade(core, event->as.acquisition);
        break;
    case HF_EVENT_DESCRIBE:
        hf_acquisition_describe(core, event->as.acquisition);
        break;
    case HF_EVENT_START_OPERATION:
        hf_operation_start(core, event->as.operation);
        break;
    case HF_EVENT_CANCEL_OPERATION:
        hf_operation_cancel(core, event->as.operation);
        break;
    case HF_EVENT_TICK:
        tick(core);
        break;
    }
}

/* The properties of the session on which the deadlines of all waits depend.  If
 * they change in a step, every entry of the schedule is computed anew. */
static unsigned deadline_inputs(const struct hf_session *session)
{
    return (unsigned)hf_session_refused(session) << 1 | (session->number > 0);
}

/* Work off what was only noted in the middle of a step; then bring the schedule
 * up to date.  It ends, because each call moves acquisitions on towards their
 * ends. */
static void finish_step(struct hf_core *core)
{
    struct hf_enqueue_turn *turn;

    do {
        while ((turn = hf_enqueue_order_next_ready(core)) != NULL)
            hf_acquisition_pump(core, hf_acquisition_of_turn(turn));
        hf_deferred_calls_run(&core->deferred, core);
    } while (core->order.ready != NULL);
    hf_schedule_update(core);
    if (hf_session_is_lazy(&core->session))
        hf_core_prove(core); /* the need for a proof may have changed */
}

/* Have the schedule compute every entry anew. */
static void touch_all(struct hf_core *core)
{
    FOR_EACH (core, a, next)
        hf_schedule_touch(core, &a->entry);
    FOR_EACH_COHORT (core, cohort)
        hf_cohort_touch_waiters(core, cohort);
    FOR_EACH_OPERATION (core, operation, next)
        hf_schedule_touch(core, &operation->entry);
}

void hf_core_step(struct hf_core *core, const struct hf_event *event)
{
    struct hf_acquisition *a =
        core->unwatching != NULL ? hf_core_unwatch_returned(core) : NULL;
    unsigned inputs = deadline_inputs(&core->session);

    assert(event->now_ms >= core->now_ms);
    core->now_ms = event->now_ms;
    if (core->held.first != NULL)
        hf_core_expire(core); /* first: see publish_safe_until() */
    if (core->session.gave_up && needs_engine(event->kind))
        hf_session_connect_again(&core->session);
    dispatch(core, event);
    if (inputs != deadline_inputs(&core->session))
        touch_all(core);
    if (a != NULL) /* last, because LOST comes first */
        hf_acquisition_pump(core, a);
    finish_step(core);
}

/* The step has left nothing to do.  But if an UNWATCH was handed out last, its
 * request can be used again from now on. */
struct hf_effect *hf_core_next_effect(struct hf_core *core)
{
    struct hf_acquisition *a;
    struct hf_effect *effect;

    if (core->unwatching != NULL) {
        a = hf_core_unwatch_returned(core);
        if (a != NULL)
            hf_acquisition_pump(core, a);
        finish_step(core);
    }
    assert(core->order.ready == NULL && core->deferred.first == NULL &&
           core->schedule.touched == NULL);
    effect = hf_effect_take(&core->effects);
    if (effect != NULL && effect->kind == HF_EFFECT_UNWATCH) {
        assert(hf_session_alive(&core->session));
        core->unwatching = effect;
    }
    return effect;
}

uint64_t hf_core_wake_at_ms(const struct hf_core *core)
{
    uint64_t at_ms =
        hf_min_ms(core->session.prove_at_ms, hf_schedule_wake_at_ms(core));

    if (core->held.first != NULL)
        at_ms = hf_min_ms(
            at_ms, hf_wake_before_ms(core->now_ms, hf_session_grants_end_at_ms(
                                                       &core->session)));
    return at_ms;
}

/* ----------------------------------------------------------- invariants -- */

/* With HF_LOSS_AT_SUSPENDED no grant is relied on while SUSPENDED. */
static void check_held(const struct hf_core *core,
                       const struct hf_acquisition *a)
{
    assert(core->session.state != HF_STATE_SUSPENDED ||
           !hf_session_grants_end_when_suspended(&core->session) ||
           !hf_acquisition_is_relied_on(a));
}

/* The counts of the schedule are those of the objects. */
static void check_schedule(const struct hf_core *core)
{
    const struct hf_schedule *schedule = &core->schedule;
    size_t needs_proof = 0;

    FOR_EACH (core, a, next)
        needs_proof += a->entry.needs_proof;
    FOR_EACH_COHORT (core, cohort)
        needs_proof += cohort->holder != NULL;
    assert(schedule->due.first == NULL && schedule->needs_proof == needs_proof);
    assert(schedule->touched == NULL);
}

/* ${count} acquisitions are HELD, and these are in the list. */
static void check_held_list(const struct hf_core *core, size_t count)
{
    const struct hf_acquisition *previous = NULL;

    for (const struct hf_acquisition *a = core->held.first; a != NULL;
         a = a->next_held) {
        assert(a->state == HF_ACQUISITION_HELD);
        assert(a->previous_held == previous && count > 0);
        previous = a;
        count--;
    }
    assert(core->held.last == previous && count == 0);
}

/* The links of the list of effects are consistent. */
static void check_effects(const struct hf_core *core)
{
    struct hf_effect *const *link = &core->effects.first;

    for (; *link != NULL; link = &(*link)->next)
        assert((*link)->queued && (*link)->link == link);
    assert(core->effects.end == link);
}

void hf_core_check(const struct hf_core *core)
{
    const struct hf_acquisition *previous = NULL;
    size_t held = 0;

    for (const struct hf_acquisition *a = core->acquisitions.first; a != NULL;
         a = a->next) {
        assert(a->previous == previous);
        hf_acquisition_check(core, a);
        check_held(core, a);
        held += a->state == HF_ACQUISITION_HELD;
        previous = a;
    }
    assert(core->acquisitions.last == previous);
    FOR_EACH_COHORT (core, cohort) {
        hf_cohort_check(core, cohort);
        held += cohort->holder != NULL;
    }
    check_held_list(core, held);
    check_schedule(core);
    for (const struct hf_operation *i = core->operations.first; i != NULL;
         i = i->next)
        hf_operation_check(core, i);
    assert(held == 0 ||
           core->now_ms < hf_session_grants_end_at_ms(&core->session));
    assert(atomic_load(&core->session.published.ms) ==
           core->session.safe_until_ms);
    hf_session_check(&core->session);
    check_effects(core);
}

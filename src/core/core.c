/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step of the core: takes in one event, passes it to the objects that it
 * concerns, and works off what they have noted.  Steps that concern many
 * objects at once are here: losses, the end of a session, a close.
 */
#include "core/core.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/time_math.h"

/* Run through the acquisitions; each may leave the list in its turn. */
#define FOR_EACH(core, a, next)                                                \
    for (struct hf_acquisition *a = (core)->acquisitions.first, *next;         \
         a != NULL && (hf_core_count_visit(core), next = a->next, true);       \
         a = next)

#define FOR_EACH_OPERATION(core, operation, next)                              \
    for (struct hf_operation *operation = (core)->operations.first, *next;     \
         operation != NULL &&                                                  \
         (hf_core_count_visit(core), next = operation->next, true);            \
         operation = next)

#define FOR_EACH_COHORT(core, cohort)                                          \
    for (struct hf_cohort *cohort = (core)->cohorts.first;                     \
         cohort != NULL && (hf_core_count_visit(core), true);                  \
         cohort = cohort->next)

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

/* --------------------------------------------------------------- grants -- */

static void pump_all(struct hf_core *core)
{
    FOR_EACH (core, a, next)
        hf_acquisition_pump(core, a);
}

/* Pump the acquisitions that lose() has returned, each once. */
static void pump_lost(struct hf_core *core, struct hf_acquisition *first)
{
    for (struct hf_acquisition *a = first, *next; a != NULL; a = next) {
        next = a->next_held;
        hf_core_count_visit(core);
        hf_acquisition_pump(core, a);
    }
}

/* End the grants of all acquisitions that are HELD, or of all that somebody
 * relies on, and report each loss.  Return those that were lost here, linked by
 * .next_held, for pump_lost(): what follows from a loss comes after all losses
 * were reported.  A lost child takes its parent with it, and the lost ticket of
 * a cohort its holder; these are behind what they depend on in the list. */
static struct hf_acquisition *lose(struct hf_core *core, bool relied_on_only,
                                   bool tickets_live, const char *why)
{
    struct hf_acquisition *lost = NULL, **end = &lost;
    struct hf_acquisition *kept = NULL, *a;

    while ((a = kept != NULL ? kept->next_held : core->held.first) != NULL) {
        hf_core_count_visit(core);
        if (a->ops == &hf_acquisition_cohort_ops || /* with its ticket */
            (relied_on_only && !hf_acquisition_is_relied_on(a))) {
            kept = a;
            continue;
        }
        hf_acquisition_lose(core, a, tickets_live, why);
        assert(kept == NULL || kept->state == HF_ACQUISITION_HELD);
        a->next_held = NULL;
        *end = a;
        end = &a->next_held;
    }
    return lost;
}

/* End every grant. */
static struct hf_acquisition *lose_all(struct hf_core *core, bool tickets_live,
                                       const char *why)
{
    struct hf_acquisition *lost = lose(core, false, tickets_live, why);

    assert(core->held.first == NULL);
    return lost;
}

/* HF_LOSS_AT_SUSPENDED: end every grant that somebody relies on.  Acquisitions
 * that wait keep their tickets, because a wait outlasts the connection. */
static struct hf_acquisition *lose_when_suspended(struct hf_core *core)
{
    static const char why[] =
        "the connection was lost, and the client was opened with "
        "HF_LOSS_AT_SUSPENDED; with HF_LOSS_AT_LOST grants outlast it";

    return lose(core, true, true, why);
}

/* Safe-until has passed: from now on somebody else may have been admitted,
 * although the tickets may live. */
static void expire(struct hf_core *core)
{
    struct hf_error why;

    if (core->held.first == NULL ||
        core->now_ms < hf_session_grants_end_at_ms(&core->session))
        return;
    hf_session_explain_not_renewed(&core->session, &why);
    pump_lost(core, lose_all(core, true, why.text));
}

/* Show readers the present safe-until, by one store.  It must not revive a lost
 * grant: one that belongs to another session, or that was held when safe-until
 * passed, must have lost its flag before. hf_core_step() sees to the latter,
 * because it ends expired grants before it takes in an event.  A grant of a
 * lazy session goes on after safe-until has passed; a later proof shows that
 * nobody was admitted in between. */
static void publish_safe_until(struct hf_core *core)
{
    struct hf_session *session = &core->session;

    assert(core->held.first == NULL ||
           (session->published_number == session->number &&
            (hf_session_is_lazy(session) ||
             core->now_ms < atomic_load(&session->published.ms))));
    session->published_number = session->number;
    hf_safe_until_store(&session->published, session->safe_until_ms);
}

/* Admit those that waited for the proof, and end the grants if safe-until has
 * moved into the past. */
static void safe_until_moved(struct hf_core *core)
{
    hf_schedule_update(core);
    hf_schedule_proven(core);
    expire(core);
}

/* Does anybody need the session to be proven?  In a lazy session only those
 * that wait for a proof do, and, after a resume, all that hold. */
static bool needs_proof(const struct hf_core *core)
{
    const struct hf_session *session = &core->session;

    if (!hf_session_is_lazy(session))
        return core->schedule.needs_proof > 0;
    return session->check_pending || core->schedule.proofs.first != NULL ||
           (core->held.first != NULL && session->resume_cap_ms != HF_FOREVER);
}

/* Request the next proof, or plan it, as long as somebody needs one. */
static void prove(struct hf_core *core)
{
    core->session.prove_at_ms = HF_FOREVER;
    hf_schedule_update(core);
    if (needs_proof(core))
        hf_session_want_proof(&core->session, core->now_ms);
}

/* -------------------------------------------------------------- session -- */

/* Will no later session get another answer than ${status}? */
static bool is_final(hf_status status)
{
    return status != HF_OK && status != HF_ELOST &&
           hf_status_retry(status) == HF_RETRY_NEVER;
}

/* End every wait and every operation with ${status} and ${text}. */
static void end_waits(struct hf_core *core, hf_status status, const char *text)
{
    struct hf_error why;

    hf_error_set(&why, status, "%s", text);
    FOR_EACH (core, a, next)
        hf_acquisition_give_up(core, a, &why);
    FOR_EACH_COHORT (core, cohort)
        hf_cohort_give_up(core, cohort, &why);
    FOR_EACH_OPERATION (core, operation, next)
        hf_operation_give_up(core, operation, &why);
}

/* A request of ${a} was answered or taken back: its listener may have waited
 * for that to use it again. */
static void notify_changed(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->listener->changed != NULL)
        a->listener->changed(core, a);
}

/* The engine has returned from the UNWATCH that it was handed last, so that
 * request can be used again.  Return the acquisition that it belongs to; NULL:
 * none. */
static struct hf_acquisition *unwatch_returned(struct hf_core *core)
{
    struct hf_request *request;
    struct hf_acquisition *a;

    if (core->unwatching == NULL)
        return NULL;
    request = core->unwatching->request;
    core->unwatching = NULL;
    if (request->operation != NULL) {
        hf_operation_unwatched(core, request->operation);
        return NULL;
    }
    a = request->own_ticket->acquisition;
    hf_own_ticket_unwatched(request->own_ticket, request);
    hf_schedule_touch(core, &a->entry);
    notify_changed(core, a);
    return a;
}

/* The session is over, so the engine has no watch any more: drop every UNWATCH
 * that is still queued.  Acquisitions in the list of the core know that the
 * session is over.  This also reaches those that became DONE before their
 * UNWATCH was carried out. */
static void drop_unwatches(struct hf_core *core)
{
    struct hf_effect *effect, *next;

    assert(core->unwatching == NULL);
    for (effect = core->effects.first; effect != NULL; effect = next) {
        next = effect->next;
        hf_core_count_visit(core);
        if (effect->kind != HF_EFFECT_UNWATCH)
            continue;
        hf_effect_remove(&core->effects, effect);
        core->unwatching = effect;
        unwatch_returned(core);
    }
}

/* The session has ended because of ${text}: every grant is lost and every
 * ticket is gone.  Waits go on, with new tickets in the next session. */
static void session_over(struct hf_core *core, const char *text)
{
    struct hf_error why;

    hf_error_set(&why, HF_ELOST, "the session is over: %s", text);
    (void)lose_all(core, false, why.text);
    hf_session_lost(&core->session);
    publish_safe_until(core);
    FOR_EACH (core, a, next)
        hf_acquisition_session_over(core, a);
    FOR_EACH_OPERATION (core, operation, next)
        hf_operation_session_over(core, operation);
    drop_unwatches(core);
}

/* SESSION_LOST.  A status that no later session will improve also ends the
 * waits. */
static void session_lost(struct hf_core *core, const struct hf_event *event)
{
    hf_status status = event->as.answer.status;
    const char *text = event->as.answer.text;

    if (text == NULL || text[0] == '\0')
        text = is_final(status) ? hf_status_text(status)
                                : "the engine does not say why";
    if (hf_session_alive(&core->session))
        session_over(core, text);
    if (is_final(status))
        end_waits(core, status, text);
}

/* CONNECTED, by a new or the resumed session. */
static void connected(struct hf_core *core, const struct hf_event *event)
{
    bool alive = hf_session_alive(&core->session);
    bool resumed = alive && event->as.connected.resumed;

    if (core->session.state == HF_STATE_CLOSED)
        return;
    if (alive && !resumed)
        session_over(core, "another one has begun");
    hf_session_connected(&core->session, event->as.connected.timeout_ms,
                         event->as.connected.clock_drift,
                         event->as.connected.anchor_ms, resumed,
                         event->as.connected.lazy);
    publish_safe_until(core);
    FOR_EACH (core, a, next)
        hf_acquisition_connected(core, a);
    FOR_EACH_OPERATION (core, operation, next)
        hf_operation_pump(core, operation);
    safe_until_moved(core);
    prove(core);
}

/* SUSPENDED: the connection is gone and the session may be alive. */
static void suspended(struct hf_core *core)
{
    struct hf_acquisition *lost = NULL;

    if (core->session.state != HF_STATE_CONNECTED)
        return;
    if (hf_session_grants_end_when_suspended(&core->session))
        lost = lose_when_suspended(core);
    hf_session_suspended(&core->session);
    pump_lost(core, lost);
}

/* RESUMING: the server may count the timeout of the session anew, which may
 * move safe-until back. */
static void resuming(struct hf_core *core, const struct hf_event *event)
{
    if (!hf_session_alive(&core->session))
        return;
    hf_session_resuming(&core->session, event->as.resuming.sent_at_ms,
                        event->as.resuming.least_timeout_ms);
    publish_safe_until(core);
    safe_until_moved(core);
}

/* GAVE_UP: no further attempt to connect is made.  Waits end.  Holders keep
 * what they have until safe-until passes. */
static void gave_up(struct hf_core *core, const struct hf_event *event)
{
    struct hf_error why;

    if (core->session.closing)
        return;
    assert(core->session.state != HF_STATE_CONNECTED);
    hf_session_gave_up(&core->session, core->config.engine_name,
                       event->as.gave_up.retries, event->as.gave_up.elapsed_ms,
                       &why);
    end_waits(core, why.status, why.text);
}

/* Does an event of this kind need the engine?  Then a client that gave up
 * connects again. */
static bool needs_engine(enum hf_event_kind kind)
{
    return kind == HF_EVENT_ACQUIRE || kind == HF_EVENT_START_OPERATION ||
           kind == HF_EVENT_RELEASE || kind == HF_EVENT_DOWNGRADE;
}

/* CLOSE: every grant and every wait ends, and the engine is asked to end the
 * session. */
static void begin_close(struct hf_core *core)
{
    if (core->session.closing)
        return;
    (void)lose_all(core, true, "the client was closed");
    hf_session_close(&core->session);
    end_waits(core, HF_ECLOSED, "the client was closed");
    pump_all(core); /* nothing is asked any more, but watches are taken back */
}

/* CLOSED: the engine is gone, and with it every ticket. */
static void closed(struct hf_core *core)
{
    assert(core->session.state != HF_STATE_CLOSED);
    (void)lose_all(core, false, "the engine was closed");
    core->session.closing = true; /* waits end without a request */
    end_waits(core, HF_ECLOSED, "the client was closed");
    FOR_EACH (core, a, next)
        hf_acquisition_session_over(core, a);
    FOR_EACH_OPERATION (core, operation, next)
        hf_operation_session_over(core, operation);
    drop_unwatches(core);
    hf_session_closed(&core->session); /* last: nothing is left to do */
    publish_safe_until(core);
}

/* -------------------------------------------------------------- answers -- */

/* PROVEN, as the answer to a PROVE or unasked. */
static void proven(struct hf_core *core, const struct hf_event *event)
{
    if (hf_session_alive(&core->session))
        hf_session_proven(&core->session, event->as.answer.anchor_ms);
    publish_safe_until(core);
    if (event->as.answer.request != NULL) {
        hf_session_proof_answered(&core->session, true, core->now_ms);
        hf_session_answer_check(&core->session, core->now_ms);
    }
    safe_until_moved(core);
    prove(core);
}

/* FAILED, for a request of the session: END or PROVE. */
static void session_answered(struct hf_core *core, const struct hf_event *event)
{
    const struct hf_request *request = event->as.answer.request;

    assert(event->kind == HF_EVENT_FAILED);
    if (request == &core->session.end) {
        closed(core); /* the engine cannot end the session in a better way */
        return;
    }
    assert(request == &core->session.prove);
    hf_session_proof_answered(&core->session, false, core->now_ms);
    prove(core);
}

/* A list of ${queue} has come, for any request of this client.  If it shows a
 * ticket whose removal waits for the ticket to appear, request that removal.  A
 * list that shows a part of the queue may not show such a ticket; then it is
 * removed when its time is over. */
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
    struct hf_acquisition *a = ticket != NULL ? ticket->acquisition : NULL;
    struct hf_operation *operation = request->operation;

    if (event->kind == HF_EVENT_ENQUEUED || event->kind == HF_EVENT_LISTED)
        remove_appeared(core, request->queue, &event->as.answer.snapshot);
    if (ticket != NULL) {
        hf_own_ticket_answered(core, ticket, event);
        notify_changed(core, a); /* its UNWATCH may be queued */
    } else if (operation != NULL) {
        hf_operation_answered(core, operation, event);
    } else {
        session_answered(core, event);
    }
}

/* ----------------------------------------------------------------- step -- */

/* TICK: do what is due. */
static void tick(struct hf_core *core)
{
    hf_schedule_update(core);
    hf_schedule_tick(core);
    if (core->now_ms >= core->session.prove_at_ms)
        prove(core);
}

/* ACQUIRE, by the user. */
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
        connected(core, event);
        break;
    case HF_EVENT_SUSPENDED:
        suspended(core);
        break;
    case HF_EVENT_RESUMING:
        resuming(core, event);
        break;
    case HF_EVENT_CONNECTION_ERROR:
        hf_session_connection_error(
            &core->session, event->as.connection_error.status,
            event->as.connection_error.final, event->as.connection_error.text);
        break;
    case HF_EVENT_GAVE_UP:
        gave_up(core, event);
        break;
    case HF_EVENT_SESSION_LOST:
        session_lost(core, event);
        break;
    case HF_EVENT_CLOSED:
        closed(core);
        break;
    case HF_EVENT_PROVEN:
        proven(core, event);
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
    case HF_EVENT_CHECK:
        if (core->held.first != NULL)
            hf_session_begin_check(&core->session, core->now_ms);
        break;
    case HF_EVENT_CLOSE:
        begin_close(core);
        break;
    case HF_EVENT_TICK:
        tick(core);
        break;
    }
}

/* Work off what was only noted in the middle of a step.  It ends, because each
 * call moves acquisitions on towards their ends. */
static void run_deferred(struct hf_core *core)
{
    struct hf_enqueue_turn *turn;

    do {
        while ((turn = hf_enqueue_order_next_ready(core)) != NULL)
            hf_acquisition_pump(core, hf_acquisition_of_turn(turn));
        hf_deferred_calls_run(&core->deferred, core);
    } while (core->order.ready != NULL);
}

/* The properties of the session on which the deadlines of all waits depend.  If
 * they change in a step, every entry of the schedule is computed anew. */
static unsigned deadline_inputs(const struct hf_session *session)
{
    return (unsigned)hf_session_refused(session) << 1 | session->ever_connected;
}

/* The end of a step, and of a look for the next effect. */
static void finish_step(struct hf_core *core)
{
    run_deferred(core);
    hf_schedule_update(core);
    if (hf_session_is_lazy(&core->session))
        prove(core); /* the need for a proof may have changed */
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
    struct hf_acquisition *a = unwatch_returned(core);
    unsigned inputs = deadline_inputs(&core->session);

    assert(event->now_ms >= core->now_ms);
    core->now_ms = event->now_ms;
    expire(core); /* first: see publish_safe_until() */
    if (needs_engine(event->kind))
        hf_session_connect_again(&core->session);
    dispatch(core, event);
    if (inputs != deadline_inputs(&core->session))
        touch_all(core);
    if (a != NULL) /* last, because LOST comes first */
        hf_acquisition_pump(core, a);
    finish_step(core);
}

struct hf_effect *hf_core_next_effect(struct hf_core *core)
{
    struct hf_acquisition *a = unwatch_returned(core);
    struct hf_effect *effect;

    if (a != NULL)
        hf_acquisition_pump(core, a);
    finish_step(core);
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

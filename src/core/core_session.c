/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of the session, or of its safe-until, means for everything that
 * the user has started: losses, the end of waits, new tickets in the next
 * session, and the proofs that grants need.
 */
#include "core/core_session.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/time_math.h"
#include "core/core.h"

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

/* From now on somebody else may have been admitted, although the tickets may
 * live. */
void hf_core_expire(struct hf_core *core)
{
    struct hf_error why;

    assert(core->held.first != NULL);
    if (core->now_ms < hf_session_grants_end_at_ms(&core->session))
        return;
    hf_session_explain_not_renewed(&core->session, &why);
    pump_lost(core, lose_all(core, true, why.text));
}

/* Show readers the present safe-until, by one store.  It must not revive a lost
 * grant.  So the flag of a grant of another session, and of a grant that was
 * held when safe-until passed, must be cleared before.  For the latter
 * hf_core_step() ends expired grants before it takes in an event.  A grant of a
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
    if (core->held.first != NULL)
        hf_core_expire(core);
}

/* Does anybody need the session to be proven?  In a lazy session only a CHECK
 * does, and those that wait for a proof; after a resume also all that hold. */
static bool needs_proof(const struct hf_core *core)
{
    const struct hf_session *session = &core->session;

    if (!hf_session_is_lazy(session))
        return core->schedule.needs_proof > 0;
    return session->check_pending || core->schedule.proofs.first != NULL ||
           (core->held.first != NULL && session->resume_cap_ms != HF_FOREVER);
}

void hf_core_prove(struct hf_core *core)
{
    core->session.prove_at_ms = HF_FOREVER;
    hf_schedule_update(core);
    if (needs_proof(core))
        hf_session_want_proof(&core->session, core->now_ms);
}

/* -------------------------------------------------------------- session -- */

/* Is ${status} an error that every later session would get again? */
static bool is_final(hf_status status)
{
    return status != HF_OK && status != HF_ELOST &&
           hf_status_retry(status) == HF_RETRY_NEVER;
}

/* End every wait and every operation with ${status} and ${text}. */
static void end_waits(struct hf_core *core, hf_status status, const char *text)
{
    struct hf_error why;

    assert(status != HF_OK && text[0] != '\0');
    hf_error_set(&why, status, "%s", text);
    FOR_EACH (core, a, next)
        hf_acquisition_give_up(core, a, &why);
    FOR_EACH_COHORT (core, cohort)
        hf_cohort_give_up(core, cohort, &why);
    FOR_EACH_OPERATION (core, operation, next)
        hf_operation_give_up(core, operation, &why);
}

struct hf_acquisition *hf_core_unwatch_returned(struct hf_core *core)
{
    struct hf_request *request = core->unwatching->request;
    struct hf_acquisition *a;

    assert(!core->unwatching->queued);
    core->unwatching = NULL;
    if (request->operation != NULL) {
        hf_operation_unwatched(core, request->operation);
        return NULL;
    }
    a = request->own_ticket->acquisition;
    hf_own_ticket_unwatched(request->own_ticket, request);
    hf_schedule_touch(core, &a->entry);
    if (a->listener->changed != NULL) /* it may wait for this end */
        a->listener->changed(core, a);
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
        (void)hf_core_unwatch_returned(core); /* the session is over: no pump */
    }
}

/* The session has ended because of ${text}: every grant is lost and every
 * ticket is gone.  Waits go on, with new tickets in the next session. */
static void session_over(struct hf_core *core, const char *text)
{
    struct hf_error why;

    assert(hf_session_alive(&core->session));
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
    hf_session_connected(
        &core->session, event->as.connected.timeout_ms,
        event->as.connected.clock_drift, event->as.connected.anchor_ms, resumed,
        event->as.connected.lazy, event->as.connected.proof_ms);
    publish_safe_until(core);
    FOR_EACH (core, a, next)
        hf_acquisition_connected(core, a);
    FOR_EACH_OPERATION (core, operation, next)
        hf_operation_pump(core, operation);
    safe_until_moved(core);
    hf_core_prove(core);
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

/* GAVE_UP: no attempt to connect is made until the engine is needed again, see
 * hf_session_connect_again().  Waits end.  Grants go on as in any outage. */
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

/* CLOSED, or END has failed: the engine is gone, and every ticket goes with its
 * session. */
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

/* PROVEN, as the answer to a PROVE or unasked. */
static void proven(struct hf_core *core, const struct hf_event *event)
{
    if (hf_session_alive(&core->session))
        hf_session_proven(&core->session, event->as.answer.anchor_ms);
    publish_safe_until(core);
    if (event->as.answer.request != NULL) {
        hf_session_proof_answered(&core->session, NULL, core->now_ms);
        hf_session_answer_check(&core->session, core->now_ms);
    }
    safe_until_moved(core);
    hf_core_prove(core);
}

/* FAILED, for a request of the session: END or PROVE. */
static void request_failed(struct hf_core *core,
                           const struct hf_request *request, const char *text)
{
    if (request == &core->session.end) {
        closed(core); /* the engine cannot end the session in a better way */
        return;
    }
    assert(request == &core->session.prove);
    hf_session_proof_answered(&core->session, text, core->now_ms);
    hf_core_prove(core);
}

/* -------------------------------------------------------------- events -- */

void hf_core_session_event(struct hf_core *core, const struct hf_event *event)
{
    struct hf_session *session = &core->session;

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
        hf_session_connection_error(session, event->as.connection_error.status,
                                    event->as.connection_error.final,
                                    event->as.connection_error.text);
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
    case HF_EVENT_FAILED:
        request_failed(core, event->as.answer.request, event->as.answer.text);
        break;
    case HF_EVENT_CHECK:
        if (core->held.first != NULL)
            hf_session_begin_check(session, core->now_ms);
        break;
    case HF_EVENT_CLOSE:
        begin_close(core);
        break;
    default:
        assert(false && "not an event of the session");
    }
}

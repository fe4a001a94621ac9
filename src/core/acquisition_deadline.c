/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the wait of an acquisition ends and with which error; and the entry of
 * an acquisition in the schedule: its deadline, its next request, and whether
 * it needs a proof.
 */
#include "core/acquisition.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/time_math.h"
#include "base/url.h"
#include "core/core_state.h"
#include "core/deadlock_detection.h"

#define STATE(name) HF_ACQUISITION_##name

/* WAITING: when the wait ends although nothing happens (CLOCK_BOOTTIME).  That
 * is the deadline, or for a try the time that the engine has for an answer;
 * without a first connection no later than .connect_by_ms, and at once if all
 * servers refuse us. */
static uint64_t wait_ends_at_ms(const struct hf_core *core,
                                const struct hf_acquisition *a)
{
    uint64_t at_ms = a->deadline_at_ms;

    if (core->session.closing || a->no_deadline)
        return HF_FOREVER;
    if (a->only_try)
        at_ms = hf_after_ms(a->started_at_ms, core->config.connect_ms);
    if (hf_session_refused(&core->session))
        at_ms = hf_min_ms(at_ms, a->started_at_ms);
    if (!core->session.ever_connected)
        at_ms = hf_min_ms(at_ms, a->connect_by_ms);
    return at_ms;
}

/* Why ${a} is not in the queue: the error of the connection, if there is one,
 * else the failure of the last enqueue of the acquisition that is first in
 * line, which may be ${a}. "": not known. */
static const char *connection_error_of(const struct hf_core *core,
                                       const struct hf_acquisition *a)
{
    const struct hf_enqueue_turn *in_front;

    while (a->ops->takes_tickets &&
           (in_front = hf_enqueue_order_before(core, &a->tickets.turn)) != NULL)
        a = hf_acquisition_of_turn(in_front);
    if (core->session.connection_error[0] == '\0' && a->ops->takes_tickets &&
        a->tickets.enqueue_retry.tries > 0)
        return hf_acquisition_text(a);
    return core->session.connection_error;
}

/* The text says how far the wait has got: no connection, not in the queue,
 * behind others, or first but not confirmed.  Its second half names the failure
 * that kept it there, if one is known. */
void hf_acquisition_explain_timeout(struct hf_core *core,
                                    struct hf_acquisition *a,
                                    uint64_t waited_ms, bool only_try,
                                    struct hf_error *why)
{
    const char *state = hf_state_name(core->session.state);
    const struct hf_acquisition *waits_by;
    bool has_position = a->ops->position(core, a, &waits_by);
    const struct hf_own_ticket *ticket = hf_acquisition_ticket(waits_by);
    const char *connection_error = connection_error_of(core, waits_by);
    const char *colon = connection_error[0] != '\0' ? ": " : "";
    char waited[HF_DURATION_BYTES], outage[HF_SESSION_OUTAGE_BYTES];

    hf_duration_format_short(waited_ms, waited);
    hf_session_format_outage(&core->session, outage);
    if (!core->session.ever_connected)
        hf_session_explain_never_connected(
            &core->session, core->config.engine_name, waited_ms, why);
    else if (only_try)
        hf_error_set(
            why, HF_EUNREACHABLE,
            "the engine gave no answer within %s; the session is %s%s%s",
            waited, state, colon, connection_error);
    else if (ticket != NULL && ticket->state == HF_OWN_TICKET_UNQUEUED &&
             ticket->queue_watch->state == HF_QUEUE_WATCH_WATCHING)
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %s; first in line, but of %" PRIu32
                     " permits %" PRIu32 " are not free; held by \"%s\"%s",
                     waited, a->limit, a->weight, hf_shared_text_get(a->holder),
                     outage);
    else if (ticket != NULL && ticket->state == HF_OWN_TICKET_HELD &&
             !has_position)
        hf_error_set(why, HF_ETIMEDOUT,
                     "first in the queue, but after %s the engine has not "
                     "confirmed the session, which is "
                     "%s%s%.300s",
                     waited, state, colon, connection_error);
    else if (!hf_acquisition_is_queued(waits_by) && !has_position)
        hf_error_set(why, HF_ETIMEDOUT,
                     "not in the queue after %s; the session is %s%s%.300s",
                     waited, state, colon, connection_error);
    else if (a->kind == HF_TICKET_PARTICIPANT && ticket->in.queued.blocking > 0)
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %s; %" PRIu32 " of %" PRIu32
                     " parties are there%s",
                     waited, a->ahead, a->limit, outage);
    else if (!has_position && ticket->in.queued.blocking == 0)
        hf_error_set(why, HF_ETIMEDOUT,
                     "first in the queue, but after %s the engine has not "
                     "confirmed the session%s",
                     waited, outage);
    else
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %s; ahead: %" PRIu32 ", held by \"%s\"%s", waited,
                     a->ahead, hf_shared_text_get(a->holder), outage);
}

/* End a wait whose time is over. */
static void end_late_wait(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_acquisition_explain_timeout(core, a, core->now_ms - a->started_at_ms,
                                   a->only_try, &why);
    hf_acquisition_give_up(core, a, &why);
}

/* Something of an acquisition is due: end its wait, or make the request. */
static void tick(struct hf_core *core, struct hf_schedule_entry *entry)
{
    struct hf_acquisition *a =
        container_of(entry, struct hf_acquisition, entry);

    if (hf_acquisition_is_waiting(a) &&
        core->now_ms >= wait_ends_at_ms(core, a)) {
        end_late_wait(core, a);
        return;
    }
    if (hf_acquisition_ticket(a) != NULL)
        hf_own_ticket_tick(core, a->tickets.current);
    hf_deadlock_detection_tick(core, a->detection);
    hf_acquisition_pump(core, a);
}

/* When the next request of any of its tickets is due.  An enqueue counts only
 * if it became due after the last pump: that pump has seen an earlier one, and
 * it waits for something other than time. */
static uint64_t request_at_ms(const struct hf_acquisition *a)
{
    uint64_t at_ms = HF_FOREVER;

    if (!a->ops->takes_tickets)
        return HF_FOREVER;
    if (a->state == STATE(WAITING) && a->tickets.current == NULL &&
        a->tickets.enqueue_at_ms > a->tickets.pumped_ms)
        at_ms = a->tickets.enqueue_at_ms;
    if (a->tickets.current != NULL)
        at_ms =
            hf_min_ms(at_ms, hf_own_ticket_request_at_ms(a->tickets.current));
    FOR_EACH_EARLIER (a, ticket)
        at_ms = hf_min_ms(at_ms, hf_own_ticket_request_at_ms(ticket));
    return at_ms;
}

/* When the acquisition must be looked at even without a connection: its wait,
 * or the wait of its report for the removal, is over. */
static uint64_t deadline_ms(const struct hf_core *core,
                            const struct hf_acquisition *a)
{
    if (hf_acquisition_is_waiting(a))
        return wait_ends_at_ms(core, a);
    if (a->state == STATE(GIVING_UP) && !a->notified &&
        !hf_acquisition_waits_for_removal(a))
        return a->notify_at_ms;
    return HF_FOREVER;
}

/* Does the grant, or a grant that may come with the next event, need
 * safe-until?  Then the session is proven in time. */
static bool needs_proof(const struct hf_acquisition *a)
{
    const struct hf_own_ticket *ticket = hf_acquisition_ticket(a);

    if (a->state == STATE(HELD))
        return true;
    return ticket != NULL && (ticket->state == HF_OWN_TICKET_ENQUEUING ||
                              (ticket->state == HF_OWN_TICKET_QUEUED &&
                               ticket->in.queued.blocking <= 1));
}

/* Is a proof all that is missing? */
static bool waits_for_proof(const struct hf_acquisition *a)
{
    if (a->state == STATE(HELD))
        return !a->listener->is_relied_on(a) && a->listener->proven != NULL;
    return hf_acquisition_is_queued(a) &&
           a->tickets.current->in.queued.blocking == 0;
}

/* The keys of the schedule follow from the state of the acquisition alone;
 * hf_core_check() compares them with those in the heaps. */
static struct hf_schedule_keys keys_of(const struct hf_core *core,
                                       const struct hf_schedule_entry *entry)
{
    const struct hf_acquisition *a =
        container_of(entry, const struct hf_acquisition, entry);

    return (struct hf_schedule_keys){
        .deadline_ms = deadline_ms(core, a),
        .request_ms = hf_min_ms(request_at_ms(a),
                                hf_deadlock_detection_at_ms(a->detection)),
        .waits_for_proof = waits_for_proof(a),
        .needs_proof = needs_proof(a),
    };
}

/* Safe-until has moved, and waits_for_proof() was true. */
static void proven(struct hf_core *core, struct hf_schedule_entry *entry)
{
    struct hf_acquisition *a =
        container_of(entry, struct hf_acquisition, entry);

    if (a->state == STATE(HELD))
        a->listener->proven(core, a);
    else
        hf_own_ticket_proven(core, a->tickets.current);
}

static const struct hf_schedule_ops schedule_ops = {keys_of, tick, proven};

void hf_acquisition_schedule(struct hf_core *core, struct hf_acquisition *a)
{
    hf_schedule_enter(core, &a->entry, &schedule_ops);
}

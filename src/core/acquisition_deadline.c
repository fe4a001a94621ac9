/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the wait of an acquisition ends and with which error; and the entry of
 * an acquisition in the schedule: its deadline, its next request, and whether
 * it needs a proof.
 */
#include "core/acquisition.h"

#include <assert.h>
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
 * servers refuse us.  HF_FOREVER: there is no deadline, or others end the wait.
 */
static uint64_t wait_ends_at_ms(const struct hf_core *core,
                                const struct hf_acquisition *a)
{
    uint64_t at_ms = a->deadline_at_ms;

    assert(a->state == STATE(WAITING));
    if (core->session.closing || a->listener->has_deadlines ||
        (a->ops->has_deadline != NULL && !a->ops->has_deadline(a)))
        return HF_FOREVER;
    if (a->only_try)
        at_ms = hf_after_ms(a->started_at_ms, core->config.connect_ms);
    if (hf_session_refused(&core->session))
        at_ms = hf_min_ms(at_ms, a->started_at_ms);
    if (core->session.number == 0)
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
    if (core->session.connection_error.text[0] == '\0' &&
        a->ops->takes_tickets && a->tickets.enqueue_retry.tries > 0)
        return hf_acquisition_text(a);
    return core->session.connection_error.text;
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
    if (core->session.number == 0)
        hf_session_explain_never_connected(
            &core->session, core->config.engine_name, waited_ms, why);
    else if (only_try)
        hf_error_set(
            why, HF_EUNREACHABLE,
            "the engine gave no answer within %s; the session is %s%s%s",
            waited, state, colon, connection_error);
    else if (ticket != NULL && ticket->state == HF_OWN_TICKET_UNQUEUED &&
             ticket->queue_watch->state == HF_TICKET_QUEUE_WATCH_WATCHING)
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
                     " participants are there%s",
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

/* HELD: when the listener wants to be called although nothing happens. */
static uint64_t held_until_ms(const struct hf_acquisition *a)
{
    assert(a->state == STATE(HELD));
    return a->listener->held_until_ms != NULL ? a->listener->held_until_ms(a)
                                              : HF_FOREVER;
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

    if (a->state == STATE(WAITING) &&
        core->now_ms >= wait_ends_at_ms(core, a)) {
        end_late_wait(core, a);
        return;
    }
    if (a->state == STATE(HELD) && core->now_ms >= held_until_ms(a))
        a->listener->changed(core, a);
    if (hf_acquisition_ticket(a) != NULL)
        hf_own_ticket_tick(core, a->tickets.current);
    hf_deadlock_detection_tick(core, a->detection);
    hf_acquisition_pump(core, a);
}

/* When the next request is due, of any of its tickets or of its look for
 * deadlocks.  An enqueue counts only if it became due after the last pump: one
 * that was due earlier and was not sent by that pump waits for something other
 * than time. */
static uint64_t request_at_ms(const struct hf_acquisition *a)
{
    uint64_t at_ms = a->detection != NULL
                         ? hf_deadlock_detection_at_ms(a->detection)
                         : HF_FOREVER;

    if (!a->ops->takes_tickets)
        return at_ms;
    if (a->tickets.current != NULL)
        at_ms =
            hf_min_ms(at_ms, hf_own_ticket_request_at_ms(a->tickets.current));
    else if (a->state == STATE(WAITING) &&
             a->tickets.enqueue_at_ms > a->tickets.pumped_ms)
        at_ms = hf_min_ms(at_ms, a->tickets.enqueue_at_ms);
    FOR_EACH_EARLIER (a, ticket)
        at_ms = hf_min_ms(at_ms, hf_own_ticket_request_at_ms(ticket));
    return at_ms;
}

/* The keys of the schedule follow from the state of the acquisition alone;
 * hf_core_check() compares them with those in the heaps.  A grant, and one that
 * may come with the next event, needs a proof, so that the session is proven in
 * time.  GIVING_UP has a deadline of its own for the report of the end. */
static struct hf_schedule_keys keys_of(const struct hf_core *core,
                                       const struct hf_schedule_entry *entry)
{
    const struct hf_acquisition *a =
        container_of(entry, const struct hf_acquisition, entry);
    const struct hf_own_ticket *ticket = hf_acquisition_ticket(a);
    struct hf_schedule_keys keys = {.deadline_ms = HF_FOREVER,
                                    .request_ms = request_at_ms(a)};

    switch (a->state) {
    case STATE(WAITING):
        keys.deadline_ms = wait_ends_at_ms(core, a);
        if (ticket != NULL && ticket->state == HF_OWN_TICKET_ENQUEUING)
            keys.needs_proof = true;
        if (ticket != NULL && ticket->state == HF_OWN_TICKET_QUEUED) {
            keys.needs_proof = ticket->in.queued.blocking <= 1;
            keys.waits_for_proof = ticket->in.queued.blocking == 0;
        }
        break;
    case STATE(HELD):
        keys.deadline_ms = held_until_ms(a);
        keys.needs_proof = true;
        keys.waits_for_proof =
            a->listener->awaits_proof != NULL && a->listener->awaits_proof(a);
        break;
    case STATE(GIVING_UP):
        if (!hf_acquisition_waits_for_removal(a))
            keys.deadline_ms = a->notify_at_ms;
        break;
    default:
        break;
    }
    assert(keys.needs_proof || !keys.waits_for_proof);
    return keys;
}

/* Safe-until has moved, and .waits_for_proof was true. */
static void proven(struct hf_core *core, struct hf_schedule_entry *entry)
{
    struct hf_acquisition *a =
        container_of(entry, struct hf_acquisition, entry);

    if (a->state == STATE(HELD))
        a->listener->proven(core, a);
    else
        hf_own_ticket_proven(core, a->tickets.current);
}

const struct hf_schedule_ops hf_acquisition_schedule_ops = {keys_of, tick,
                                                            proven};

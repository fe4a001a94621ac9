/* SPDX-License-Identifier: Apache-2.0 */
/* The clock: limits, and what is due when. */
#include "core/acquisition_private.h"

#include <inttypes.h>

#include "core/cohort.h"
#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"

/* When the wait has to end, whatever comes. */
static uint64_t limit_ms(const struct hf_core *core,
                         const struct hf_acquisition *a)
{
    uint64_t at_ms = a->deadline_at_ms;

    if (core->session.closing || hf_bundle_is_taking(a) ||
        a->stands_for != NULL)
        return HF_FOREVER;
    if (a->only_try)
        at_ms = hf_after_ms(a->started_at_ms, core->config.connect_ms);
    if (hf_session_refused(&core->session))
        at_ms = hf_earlier_ms(at_ms, a->started_at_ms);
    if (!core->session.ever_connected)
        at_ms = hf_earlier_ms(at_ms, a->connect_by_ms);
    return at_ms;
}

/* Whose place in the queue is its own. */
static const struct hf_acquisition *ticket_of(const struct hf_acquisition *a)
{
    if (a->cohort != NULL && a->cohort->ticket != NULL)
        return a->cohort->ticket;
    return a;
}

/* What keeps it out of the queue: that of the session, if it has any, or why
 * the last enqueue was turned down, its own or that of the one whose turn it
 * is. */
static const char *trouble_of(const struct hf_core *core,
                              const struct hf_acquisition *a)
{
    const struct hf_acquisition *before;

    while ((before = hf_enqueue_order_before(core, a)) != NULL)
        a = before;
    if (core->session.trouble[0] == '\0' && a->enqueue_retry.tries > 0)
        return hf_acquisition_text(a);
    return core->session.trouble;
}

void hf_acquisition_explain_overdue(struct hf_core *core,
                                    struct hf_acquisition *a,
                                    uint64_t waited_ms, bool only_try,
                                    struct hf_error *why)
{
    const char *state = hf_state_name(core->session.state);
    const char *trouble = trouble_of(core, ticket_of(a));
    const char *colon = trouble[0] != '\0' ? ": " : "";
    const struct hf_acquisition *at = ticket_of(a);
    bool placed = a->cohort != NULL && hf_cohort_place(core, a);

    if (!core->session.ever_connected)
        hf_session_never_connected(&core->session, core->config.place,
                                   waited_ms, why);
    else if (only_try)
        hf_error_set(why, HF_EUNREACHABLE,
                     "the engine gave no answer within %" PRIu64
                     " ms; the session is %s%s%s",
                     waited_ms, state, colon, trouble);
    else if (a->state == STATE(LOOKING) &&
             a->lookout->state == HF_LOOKOUT_WATCHING)
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %" PRIu64 " ms; first in line, but of %" PRIu32
                     " permits %" PRIu32 " are not free; held by \"%s\"",
                     waited_ms, a->limit, a->weight, hf_text_of(a->holder));
    else if (at->state != STATE(QUEUED) && !placed)
        hf_error_set(why, HF_ETIMEDOUT,
                     "not in the queue after %" PRIu64
                     " ms; the session is %s%s%.300s",
                     waited_ms, state, colon, trouble);
    else if (a->kind == HF_TICKET_MEMBER && a->blocking > 0)
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %" PRIu64 " ms; %" PRIu32 " of %" PRIu32
                     " parties are there",
                     waited_ms, a->ahead, a->limit);
    else if (at->blocking == 0 && !placed)
        hf_error_set(why, HF_ETIMEDOUT,
                     "first in the queue, but after %" PRIu64
                     " ms the engine has not confirmed the session",
                     waited_ms);
    else
        hf_error_set(why, HF_ETIMEDOUT,
                     "waited %" PRIu64 " ms; ahead: %" PRIu32
                     ", held by \"%s\"",
                     waited_ms, a->ahead, hf_text_of(a->holder));
}

static void end_overdue(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_acquisition_explain_overdue(core, a, core->now_ms - a->started_at_ms,
                                   a->only_try, &why);
    hf_acquisition_give_up(core, a, &why);
}

void hf_acquisition_tick(struct hf_core *core, struct hf_acquisition *a)
{
    if (hf_acquisition_is_waiting(a) && core->now_ms >= limit_ms(core, a)) {
        end_overdue(core, a);
        return;
    }
    if (a->state == STATE(QUEUED) && core->now_ms >= a->report_at_ms &&
        hf_session_usable(&core->session)) {
        a->report_at_ms = hf_after_ms(core->now_ms, a->report_every_ms);
        /* A list under way will do.  Asking for another would put off the
         * decision for ever where reports are faster than answers. */
        a->list_wanted |= !a->ask.busy;
    }
    hf_acquisition_pump(core, a);
}

/* What came due since the last pump still is: another's event may be later than
 * that, and come before the tick. */
uint64_t hf_acquisition_request_at_ms(const struct hf_acquisition *a)
{
    uint64_t at_ms = hf_withdrawals_wake_at_ms(&a->withdrawals);

    if (a->state == STATE(PAUSED) && a->enqueue_at_ms > a->pumped_ms)
        at_ms = hf_earlier_ms(at_ms, a->enqueue_at_ms);
    if ((a->state == STATE(QUEUED) || a->state == STATE(UNSURE)) &&
        a->list_wanted && !a->ask.busy)
        at_ms = hf_earlier_ms(at_ms, a->list_at_ms);
    if ((a->state == STATE(QUEUED) || a->state == STATE(HELD)) &&
        a->watch_at_ms > a->pumped_ms)
        at_ms = hf_earlier_ms(at_ms, a->watch_at_ms);
    if (a->state == STATE(QUEUED))
        at_ms = hf_earlier_ms(at_ms, a->report_at_ms);
    if (hf_acquisition_wants_room(a) && a->lookout->state == HF_LOOKOUT_NONE)
        at_ms = hf_earlier_ms(at_ms, a->lookout->at_ms);
    if ((a->state == STATE(QUEUED) || a->state == STATE(HELD)) &&
        !a->downgrading && hf_description_is_due(a->description))
        at_ms = hf_earlier_ms(at_ms, a->description->at_ms);
    if (a->downgrading && !a->ask.busy &&
        !hf_description_is_busy(a->description))
        at_ms = hf_earlier_ms(at_ms, a->downgrade_at_ms);
    return at_ms;
}

uint64_t hf_acquisition_limit_at_ms(const struct hf_core *core,
                                    const struct hf_acquisition *a)
{
    if (hf_acquisition_is_waiting(a))
        return limit_ms(core, a);
    if (a->state == STATE(WITHDRAWING) && !a->told && !a->thorough)
        return a->tell_at_ms;
    return HF_FOREVER;
}

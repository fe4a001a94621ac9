/* SPDX-License-Identifier: Apache-2.0 */
/* Members: what those at a double barrier mean for one of them. */
#include "core/acquisition_private.h"

#include <assert.h>
#include <inttypes.h>

#include "core/core.h"
#include "core/double_barrier.h"
#include "core/error.h"
#include "core/instant.h"

static void end_alone(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_error_set(&why, HF_EBUSY, "%" PRIu32 " of %" PRIu32 " parties are there",
                 a->ahead, a->limit);
    hf_acquisition_give_up(core, a, &why);
}

/* How many are missing, and one more until there is a stamp. */
static size_t missing(const struct hf_acquisition *a,
                      const struct hf_enter *enter)
{
    if (enter->answer == HF_ENTER_PASS)
        return 0;
    return enter->members < a->limit ? a->limit - enter->members + 1 : 1;
}

static void evict(struct hf_core *core, struct hf_acquisition *a)
{
    hf_acquisition_disown(a);
    hf_acquisition_evicted(core, a);
}

void hf_acquisition_decide_member(struct hf_core *core,
                                  struct hf_acquisition *a,
                                  const struct hf_snapshot *snapshot)
{
    struct hf_enter enter =
        hf_double_barrier_decide_enter(snapshot, &a->ticket, a->limit);

    if (enter.answer == HF_ENTER_MISSING) {
        evict(core, a);
        return;
    }
    /* A server may say another token of our ticket than when it put it in: the
     * round that our grant is of is the one after the token that it has. */
    if (enter.answer == HF_ENTER_PASS && enter.stamp <= a->token)
        enter.answer = HF_ENTER_WAIT;
    a->ahead = (uint32_t)enter.members;
    a->blocking = missing(a, &enter);
    a->stale = core->session.state != HF_STATE_CONNECTED;
    a->stamp_wanted = enter.answer == HF_ENTER_STAMP;
    if (enter.answer == HF_ENTER_PASS) {
        a->stamp = enter.stamp;
        hf_acquisition_admit(core, a);
    } else if (enter.answer == HF_ENTER_WAIT && a->only_try) {
        end_alone(core, a);
    }
    if (a->state != STATE(QUEUED))
        return;
    a->waited = true;
    if (a->blocking <= 1)
        hf_session_want_proof_ahead(&core->session, core->now_ms);
    hf_acquisition_report(core, a);
}

/* Whatever became of it is to be seen. */
static void look_again(struct hf_acquisition *a, uint64_t at_ms)
{
    if (a->state != STATE(QUEUED))
        return;
    a->list_wanted = true;
    a->list_at_ms = at_ms;
}

void hf_acquisition_stamped(struct hf_core *core, struct hf_acquisition *a)
{
    (void)core;
    a->stamp_retry = (struct hf_retry_state){0};
    look_again(a, 0);
}

void hf_acquisition_stamp_failed(struct hf_core *core, struct hf_acquisition *a,
                                 const struct hf_event *event)
{
    hf_status status = event->as.answer.status;
    struct hf_error why;

    if (event->as.answer.failure != HF_FAILURE_FATAL) {
        look_again(a, hf_acquisition_again_at_ms(core, &a->stamp_retry));
        return;
    }
    hf_error_set(&why, status == HF_OK ? HF_EPROTOCOL : status, "%s",
                 event->as.answer.text);
    hf_acquisition_give_up(core, a, &why);
}

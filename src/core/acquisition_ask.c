/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: what is wanted is asked for as soon as it can be. */
#include "core/acquisition_private.h"

#include <assert.h>

#include "core/cohort.h"
#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"

/* Backoff for what is repeated until it works. */
uint64_t hf_acquisition_again_at_ms(struct hf_core *core,
                                    struct hf_retry_state *state)
{
    struct hf_retry_policy policy = core->config.retry;
    uint64_t at_ms;

    policy.tries = HF_RETRY_UNLIMITED;
    policy.elapsed_ms = HF_FOREVER;
    if (core->session.state != HF_STATE_CONNECTED)
        return core->now_ms; /* the connection is waited for, not the clock */
    at_ms = hf_retry_next(&policy, state, core->now_ms, &core->config.random);
    return hf_later_ms(at_ms, hf_after_ms(core->now_ms, 1));
}

static void ask(struct hf_core *core, struct hf_acquisition *a,
                enum hf_request_kind kind)
{
    assert(!a->ask.busy && hf_session_usable(&core->session));
    a->ask.kind = kind;
    a->ask.ticket = a->ticket;
    a->ask.busy = true;
    a->ask.engine_data = NULL;
    hf_effect_add(&core->effects, &a->ask_effect, HF_EFFECT_REQUEST);
}

/* Take back a request that the engine has not heard of. */
void hf_acquisition_unask(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->ask_effect.queued)
        return;
    hf_effect_remove(&core->effects, &a->ask_effect);
    a->ask.busy = false;
}

bool hf_acquisition_enqueue_unanswered(const struct hf_acquisition *a)
{
    return a->ask.busy && a->ask.kind == HF_REQUEST_ENQUEUE;
}

bool hf_acquisition_can_enqueue(const struct hf_acquisition *a)
{
    return hf_withdrawals_count_abandoned(&a->withdrawals) < HF_ABANDONED_MAX;
}

/* One timeout from now, the link it was sent on being known to have ended.
 * Without a lease there is no such time: the first request after it sees it or
 * it never was. */
void hf_acquisition_abandon(struct hf_core *core, struct hf_acquisition *a,
                            bool now)
{
    uint64_t timeout_ms = core->session.timeout_ms;
    uint64_t until_ms =
        timeout_ms == HF_FOREVER ? 0 : hf_after_ms(core->now_ms, timeout_ms);

    hf_withdrawals_abandon(&a->withdrawals, &a->ticket, until_ms, now);
}

void hf_acquisition_disown(struct hf_acquisition *a)
{
    hf_withdrawals_abandon(&a->withdrawals, &a->ticket, 0, true);
}

static struct hf_ticket_id new_ticket(struct hf_core *core,
                                      const struct hf_acquisition *a)
{
    struct hf_ticket_id id = hf_ticket_id_random(&core->config.random);

    if (hf_queue_has_roles(a->queue))
        hf_ticket_id_set_role(&id, a->gate ? HF_ROLE_ENTRY : HF_ROLE_LOCK);
    return id;
}

/* See that there is memory for what a ticket may need once it is under way.
 * Without it the enqueue fails as one for which the engine has none. */
static bool reserve(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    if (hf_acquisition_has_lookout(a) && a->lookout == NULL)
        a->lookout = hf_lookout_new(a);
    if (hf_withdrawals_reserve(a) &&
        (a->lookout != NULL || !hf_acquisition_has_lookout(a)))
        return true;
    hf_error_set(&why, HF_ENOMEM, "no memory for a ticket");
    hf_acquisition_enqueue_again(core, a, &why);
    return false;
}

static void pump_enqueue(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_ticket_id ticket;

    if (a->ask.busy || core->now_ms < a->enqueue_at_ms ||
        !hf_acquisition_can_enqueue(a) ||
        hf_enqueue_order_before(core, a) != NULL || !reserve(core, a))
        return;
    ticket = new_ticket(core, a);
    hf_ticket_table_set(&core->tickets, a, &ticket);
    a->session = core->session.number;
    a->waited = false;
    a->revoked = false;
    hf_description_renew(a->description);
    a->list_wanted = false;
    a->stamp_wanted = false;
    a->stamp = 0;
    hf_acquisition_move(core, a, STATE(ENQUEUING));
    /* Before the ENQUEUE: a session that was idle for long is then proven by
     * the time the place is known. */
    hf_session_want_proof_ahead(&core->session, core->now_ms);
    ask(core, a, HF_REQUEST_ENQUEUE);
    hf_enqueue_order_asked(core, a);
}

/* A lease enters its queue only once there was room: what stands in it is what
 * is held. */
static void pump_room(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state == STATE(PAUSED)) {
        if (core->now_ms < a->enqueue_at_ms || !hf_acquisition_can_enqueue(a) ||
            !reserve(core, a))
            return;
        a->room = false;
        hf_acquisition_move(core, a, STATE(LOOKING));
    }
    if (a->room)
        pump_enqueue(core, a);
}

static void pump_lookout(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->lookout == NULL)
        return;
    if (hf_acquisition_wants_room(a))
        hf_lookout_keep(a->lookout, &core->effects,
                        hf_session_usable(&core->session) &&
                            core->now_ms >= a->lookout->at_ms);
    else
        hf_lookout_end(a->lookout, &core->effects);
}

static void pump_list(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->list_wanted || a->ask.busy || core->now_ms < a->list_at_ms)
        return;
    a->list_wanted = false;
    ask(core, a, HF_REQUEST_LIST);
}

static void pump_stamp(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->stamp_wanted || a->ask.busy)
        return;
    a->stamp_wanted = false;
    ask(core, a, HF_REQUEST_STAMP);
}

/* Is its own ticket to be watched?  Not once it may have become a reader's.
 * Until that is asked for it is: it may run out while nobody can be asked. */
static bool watches_own(const struct hf_core *core,
                        const struct hf_acquisition *a)
{
    if (a->state == STATE(QUEUED))
        return true;
    if (a->state != STATE(HELD))
        return false;
    return !a->downgrading ||
           (!a->downgrade_asked && !hf_session_usable(&core->session));
}

static void pump_watches(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_watched wanted[HF_WATCHED_MAX];
    size_t count = 0;
    bool may_ask =
        hf_session_usable(&core->session) && core->now_ms >= a->watch_at_ms;

    if (a->state == STATE(QUEUED)) {
        if (a->before_known)
            wanted[count++] = a->before;
        /* Any number of readers wait for one writer: all looking past it
         * would be a herd for whoever releases ahead of it. */
        if (a->beyond_known && a->kind != HF_TICKET_READ &&
            core->config.traits & HF_ENGINE_LOOKS_AHEAD)
            wanted[count++] = a->beyond;
    }
    if (watches_own(core, a))
        wanted[count++] = (struct hf_watched){a->ticket, a->kind};
    if (!hf_watches_follow(a, &core->effects, wanted, count, may_ask))
        a->watch_at_ms = hf_acquisition_again_at_ms(core, &a->watch_retry);
}

static void pump_downgrade(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->downgrading || a->ask.busy ||
        hf_description_is_busy(a->description) ||
        core->now_ms < a->downgrade_at_ms)
        return;
    a->downgrade_asked = true;
    a->ask.payload = a->description != NULL && a->description->is_asked
                         ? a->description->text
                         : a->payload;
    ask(core, a, HF_REQUEST_DOWNGRADE);
}

/* Write the text again, unless the ticket is about to go or to become a read
 * ticket. */
static void pump_description(struct hf_core *core, struct hf_acquisition *a)
{
    bool stays = a->state == STATE(QUEUED) ||
                 (a->state == STATE(HELD) && !a->downgrading);

    if (stays && hf_session_usable(&core->session))
        hf_description_pump(a->description, &core->effects, &a->ticket, a->kind,
                            a->payload, core->now_ms);
    else if (a->state > STATE(HELD))
        hf_description_end(a->description, &core->effects);
}

void hf_acquisition_pump(struct hf_core *core, struct hf_acquisition *a)
{
    hf_schedule_touch(core, &a->entry);
    if (a->bundle != NULL) {
        hf_bundle_touch(core, a);
        return;
    }
    if (a->cohort != NULL) {
        hf_cohort_touch(core, a->cohort);
        return;
    }
    if (a->stands_for != NULL)
        hf_cohort_touch(core, a->stands_for);
    a->pumped_ms = core->now_ms;
    hf_enqueue_order_update(core, a); /* an id may be free again */
    if (hf_session_usable(&core->session)) {
        if (a->kind == HF_TICKET_LEASE &&
            (a->state == STATE(PAUSED) || a->state == STATE(LOOKING)))
            pump_room(core, a);
        else if (a->state == STATE(PAUSED))
            pump_enqueue(core, a);
        if (a->state == STATE(QUEUED) || a->state == STATE(UNSURE))
            pump_list(core, a);
        if (a->state == STATE(QUEUED))
            pump_stamp(core, a);
    }
    pump_watches(core, a);
    pump_lookout(core, a);
    if (a->state == STATE(HELD) && hf_session_usable(&core->session))
        pump_downgrade(core, a); /* when its ticket is not watched any more */
    hf_acquisition_downgrade_ends(core, a);
    pump_description(core, a);
    if (hf_session_usable(&core->session))
        hf_withdrawals_pump(&a->withdrawals, &core->effects, core->now_ms);
    hf_acquisition_settle(core, a);
}

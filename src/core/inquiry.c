/* SPDX-License-Identifier: Apache-2.0 */
#include "core/inquiry.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "core/core.h"
#include "core/double_barrier.h"
#include "core/error.h"
#include "core/instant.h"

#define STATE(name) HF_INQUIRY_##name
#define TO(name) (1u << HF_INQUIRY_##name)

static const struct hf_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(WANTED)},
    [STATE(WANTED)] = {"WANTED", TO(ASKED) | TO(DONE)},
    [STATE(ASKED)] = {"ASKED", TO(WANTED) | TO(WATCHING) | TO(LEFT) | TO(DONE)},
    [STATE(WATCHING)] = {"WATCHING", TO(WANTED) | TO(LEFT) | TO(DONE)},
    [STATE(LEFT)] = {"LEFT", TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_machine_table table = {"inquiry", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_core *core, struct hf_inquiry *inquiry,
                 enum hf_inquiry_state state)
{
    hf_machine_move(&table, &inquiry->state, state);
    hf_schedule_touch(core, &inquiry->entry);
}

/* ----------------------------------------------------------------- time -- */

static uint64_t limit_ms(const struct hf_core *core,
                         const struct hf_inquiry *inquiry)
{
    if (core->session.ever_connected)
        return inquiry->deadline_at_ms;
    if (hf_session_refused(&core->session))
        return inquiry->started_at_ms;
    return hf_earlier_ms(inquiry->deadline_at_ms, inquiry->connect_by_ms);
}

static void end_overdue(struct hf_core *core, struct hf_inquiry *inquiry)
{
    uint64_t waited_ms = core->now_ms - inquiry->started_at_ms;
    const char *trouble = core->session.trouble;
    const char *colon = trouble[0] != '\0' ? ": " : "";
    struct hf_error why;

    if (!core->session.ever_connected)
        hf_session_never_connected(&core->session, core->config.place,
                                   waited_ms, &why);
    else if (inquiry->state == STATE(WATCHING))
        hf_error_set(&why, HF_ETIMEDOUT, "%s after %" PRIu64 " ms",
                     inquiry->stamp != 0
                         ? "others of the round were still there"
                         : "the barrier was still up",
                     waited_ms);
    else
        hf_error_set(&why, HF_ETIMEDOUT,
                     "no answer after %" PRIu64 " ms; the session is %s%s%s",
                     waited_ms, hf_state_name(core->session.state), colon,
                     trouble);
    hf_inquiry_give_up(core, inquiry, &why);
}

static struct hf_inquiry *of_entry(const struct hf_schedule_entry *entry)
{
    char *at = (char *)(uintptr_t)entry - offsetof(struct hf_inquiry, entry);

    return (struct hf_inquiry *)(void *)at;
}

static struct hf_schedule_keys keys_of(const struct hf_core *core,
                                       const struct hf_schedule_entry *entry)
{
    const struct hf_inquiry *inquiry = of_entry(entry);
    struct hf_schedule_keys keys = {HF_FOREVER, HF_FOREVER, false, false};

    if (inquiry->state == STATE(WANTED))
        keys.request_ms = inquiry->ask_at_ms;
    if (inquiry->state != STATE(LEFT))
        keys.limit_ms = limit_ms(core, inquiry);
    return keys;
}

static void tick(struct hf_core *core, struct hf_schedule_entry *entry)
{
    struct hf_inquiry *inquiry = of_entry(entry);

    if (inquiry->state != STATE(LEFT) &&
        core->now_ms >= limit_ms(core, inquiry))
        end_overdue(core, inquiry);
    else
        hf_inquiry_pump(core, inquiry);
}

static const struct hf_schedule_ops schedule_ops = {keys_of, tick, NULL};

/* --------------------------------------------------- beginning and end -- */

static void link_last(struct hf_core *core, struct hf_inquiry *inquiry)
{
    inquiry->previous = core->last_inquiry;
    inquiry->next = NULL;
    if (core->last_inquiry != NULL)
        core->last_inquiry->next = inquiry;
    else
        core->first_inquiry = inquiry;
    core->last_inquiry = inquiry;
}

static void unlink(struct hf_core *core, struct hf_inquiry *inquiry)
{
    if (inquiry->previous != NULL)
        inquiry->previous->next = inquiry->next;
    else
        core->first_inquiry = inquiry->next;
    if (inquiry->next != NULL)
        inquiry->next->previous = inquiry->previous;
    else
        core->last_inquiry = inquiry->previous;
}

static void finish(struct hf_core *core, struct hf_inquiry *inquiry)
{
    move(core, inquiry, STATE(DONE));
    hf_schedule_leave(core, &inquiry->entry);
    unlink(core, inquiry);
    hf_effect_add(&core->effects, &inquiry->finished_effect,
                  HF_EFFECT_FINISHED);
}

static void tell(struct hf_core *core, struct hf_inquiry *inquiry)
{
    hf_effect_add(&core->effects, &inquiry->answered_effect,
                  HF_EFFECT_ANSWERED);
}

/* Its user has been told: what has the engine left of it? */
static void leave(struct hf_core *core, struct hf_inquiry *inquiry)
{
    bool looks =
        inquiry->kind == HF_REQUEST_LOOK &&
        (inquiry->state == STATE(ASKED) || inquiry->state == STATE(WATCHING));

    if (inquiry->ask_effect.queued) { /* the engine has not heard of it */
        hf_effect_remove(&core->effects, &inquiry->ask_effect);
        inquiry->ask.busy = looks = false;
    }
    if (looks) {
        inquiry->ask.busy = false;
        hf_effect_add(&core->effects, &inquiry->ask_effect, HF_EFFECT_FORGET);
    }
    if (looks || inquiry->ask.busy)
        move(core, inquiry, STATE(LEFT));
    else
        finish(core, inquiry);
}

void hf_inquiry_give_up(struct hf_core *core, struct hf_inquiry *inquiry,
                        const struct hf_error *why)
{
    if (inquiry->state == STATE(LEFT))
        return;
    inquiry->status = why->status;
    memcpy(inquiry->text, why->text, strlen(why->text) + 1);
    tell(core, inquiry);
    leave(core, inquiry);
}

void hf_inquiry_recall(struct hf_core *core, struct hf_inquiry *inquiry)
{
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "the wait was cancelled");
    hf_inquiry_give_up(core, inquiry, &why);
}

static bool is_of_mark(const struct hf_inquiry *inquiry)
{
    return inquiry->kind == HF_REQUEST_RAISE ||
           inquiry->kind == HF_REQUEST_LOWER ||
           inquiry->kind == HF_REQUEST_LOOK;
}

static enum hf_ticket_kind looked_at(const struct hf_inquiry *inquiry)
{
    if (inquiry->stamp != 0)
        return HF_TICKET_MEMBER;
    return inquiry->mark != 0 ? inquiry->mark : HF_TICKET_BARRIER;
}

static void init(struct hf_core *core, struct hf_inquiry *inquiry)
{
    const struct hf_session *session = &core->session;

    inquiry->started_at_ms = core->now_ms;
    inquiry->connect_by_ms = hf_after_ms(core->now_ms, core->config.connect_ms);
    if (core->now_ms < session->connect_by_ms && !session->ever_connected)
        inquiry->connect_by_ms = session->connect_by_ms;
    inquiry->ask.kind = inquiry->kind;
    inquiry->ask.queue = inquiry->queue;
    inquiry->ask.ticket = inquiry->ticket;
    if (inquiry->kind == HF_REQUEST_RAISE)
        inquiry->ask.ticket = hf_ticket_id_random(&core->config.random);
    if (is_of_mark(inquiry))
        inquiry->ask.ticket_kind = looked_at(inquiry);
    if (inquiry->only_try)
        inquiry->deadline_at_ms =
            hf_after_ms(core->now_ms, core->config.connect_ms);
    inquiry->ask.whole = inquiry->kind == HF_REQUEST_LIST;
    if (inquiry->kind == HF_REQUEST_LIST)
        inquiry->ask.ticket_kind = inquiry->mark;
    inquiry->ask.inquiry = inquiry;
    inquiry->ask.effect = &inquiry->ask_effect;
    inquiry->ask_effect.request = &inquiry->ask;
    inquiry->answered_effect.inquiry = inquiry;
    inquiry->finished_effect.inquiry = inquiry;
}

void hf_inquiry_want(struct hf_core *core, struct hf_inquiry *inquiry)
{
    struct hf_error why;

    assert(inquiry->state == STATE(IDLE) && inquiry->queue != NULL);
    assert(inquiry->kind == HF_REQUEST_LIST ||
           inquiry->kind == HF_REQUEST_WITHDRAW ||
           inquiry->kind == HF_REQUEST_REVOKE || is_of_mark(inquiry));
    init(core, inquiry);
    hf_schedule_enter(core, &inquiry->entry, &schedule_ops);
    link_last(core, inquiry);
    move(core, inquiry, STATE(WANTED));
    if (core->session.closing) {
        hf_error_set(&why, HF_ECLOSED, "the client is closed");
        hf_inquiry_give_up(core, inquiry, &why);
        return;
    }
    hf_inquiry_pump(core, inquiry);
}

/* ------------------------------------------------------------- barriers -- */

static void end_busy(struct hf_core *core, struct hf_inquiry *inquiry)
{
    struct hf_error why;

    hf_error_set(&why, HF_EBUSY, "%s",
                 inquiry->stamp != 0 ? "others of the round are there"
                                     : "the barrier is up");
    hf_inquiry_give_up(core, inquiry, &why);
}

static void pass(struct hf_core *core, struct hf_inquiry *inquiry)
{
    inquiry->status = HF_OK;
    tell(core, inquiry);
    leave(core, inquiry);
}

static void ask_again(struct hf_core *core, struct hf_inquiry *inquiry)
{
    move(core, inquiry, STATE(WANTED));
    inquiry->ask_at_ms = 0;
    hf_inquiry_pump(core, inquiry);
}

/* Whatever it was that woke us: look. */
static void heard(struct hf_core *core, struct hf_inquiry *inquiry)
{
    inquiry->ask.busy = false;
    ask_again(core, inquiry);
}

static void looked_at_round(struct hf_core *core, struct hf_inquiry *inquiry,
                            const struct hf_snapshot *snapshot)
{
    enum hf_leave_answer answer = hf_double_barrier_decide_leave(
        snapshot, &inquiry->ticket, inquiry->stamp, inquiry->keeps);

    if (answer == HF_LEAVE_PASS)
        pass(core, inquiry);
    else if (answer == HF_LEAVE_YIELD || inquiry->only_try)
        end_busy(core, inquiry);
    else
        move(core, inquiry, STATE(WATCHING));
}

static void looked(struct hf_core *core, struct hf_inquiry *inquiry,
                   const struct hf_event *event)
{
    inquiry->ask.busy = false;
    inquiry->retry = (struct hf_retry_state){0};
    if (inquiry->stamp != 0)
        looked_at_round(core, inquiry, &event->as.answer.snapshot);
    else if (hf_barrier_passes(&inquiry->sight, &event->as.answer.snapshot))
        pass(core, inquiry);
    else if (inquiry->only_try)
        end_busy(core, inquiry);
    else
        move(core, inquiry, STATE(WATCHING));
}

/* A list that crosses the FORGET ends nothing; anything else has. */
static void crossed(struct hf_core *core, struct hf_inquiry *inquiry,
                    const struct hf_event *event)
{
    if (event->kind == HF_EVENT_LISTED)
        return;
    hf_effect_remove(&core->effects, &inquiry->ask_effect);
    finish(core, inquiry);
}

void hf_inquiry_session_over(struct hf_core *core, struct hf_inquiry *inquiry)
{
    if (inquiry->state == STATE(WATCHING)) {
        ask_again(core, inquiry);
    } else if (inquiry->state == STATE(LEFT) && inquiry->ask_effect.queued) {
        hf_effect_remove(&core->effects, &inquiry->ask_effect);
        finish(core, inquiry);
    }
}

void hf_inquiry_taken_back(struct hf_core *core, struct hf_inquiry *inquiry)
{
    assert(inquiry->state == STATE(LEFT) && !inquiry->ask_effect.queued);
    finish(core, inquiry);
}

/* -------------------------------------------------------------- answers -- */

static void failed(struct hf_core *core, struct hf_inquiry *inquiry,
                   const struct hf_event *event)
{
    hf_status status = event->as.answer.status;
    struct hf_error why;

    if (event->as.answer.failure == HF_FAILURE_FATAL) {
        hf_error_set(&why, status == HF_OK ? HF_EPROTOCOL : status, "%s",
                     event->as.answer.text);
        hf_inquiry_give_up(core, inquiry, &why);
        return;
    }
    inquiry->unsure |= event->as.answer.failure == HF_FAILURE_UNSURE;
    inquiry->ask_at_ms = hf_core_again_at_ms(core, &inquiry->retry);
    move(core, inquiry, STATE(WANTED));
    hf_inquiry_pump(core, inquiry);
}

void hf_inquiry_answered(struct hf_core *core, struct hf_inquiry *inquiry,
                         const struct hf_event *event)
{
    assert(event->as.answer.request == &inquiry->ask);
    if (inquiry->state == STATE(LEFT) && inquiry->ask_effect.queued) {
        crossed(core, inquiry, event);
        return;
    }
    assert(!inquiry->ask_effect.queued);
    if (event->kind == HF_EVENT_CHANGED && inquiry->state != STATE(LEFT)) {
        heard(core, inquiry); /* it may have overtaken the list */
        return;
    }
    assert(inquiry->ask.busy);
    inquiry->ask.busy = false;
    if (inquiry->state == STATE(LEFT)) {
        finish(core, inquiry);
    } else if (event->kind == HF_EVENT_FAILED) {
        failed(core, inquiry, event);
    } else if (inquiry->kind == HF_REQUEST_LOOK) {
        looked(core, inquiry, event);
    } else {
        inquiry->found = event->as.answer.found || inquiry->unsure;
        inquiry->status = HF_OK;
        tell(core, inquiry);
        finish(core, inquiry);
    }
}

void hf_inquiry_pump(struct hf_core *core, struct hf_inquiry *inquiry)
{
    if (inquiry->state != STATE(WANTED) || !hf_session_usable(&core->session) ||
        core->now_ms < inquiry->ask_at_ms)
        return;
    move(core, inquiry, STATE(ASKED));
    inquiry->ask.busy = true;
    inquiry->ask.engine_data = NULL;
    hf_effect_add(&core->effects, &inquiry->ask_effect, HF_EFFECT_REQUEST);
}

void hf_inquiry_check(const struct hf_core *core,
                      const struct hf_inquiry *inquiry)
{
    assert(inquiry->state > STATE(IDLE) && inquiry->state < STATE(DONE));
    hf_schedule_check_entry(core, &inquiry->entry);
    assert(inquiry->state != STATE(WANTED) || !inquiry->ask.busy);
    assert(inquiry->state != STATE(ASKED) || inquiry->ask.busy);
    assert(
        (inquiry->state != STATE(WATCHING) && inquiry->state != STATE(LEFT)) ||
        inquiry->ask.busy == (inquiry->kind != HF_REQUEST_LOOK));
    assert(!inquiry->ask_effect.queued || inquiry->state == STATE(ASKED) ||
           inquiry->state == STATE(LEFT));
    assert(!core->session.closing || inquiry->state == STATE(LEFT));
}

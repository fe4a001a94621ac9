/* SPDX-License-Identifier: Apache-2.0 */
#include "core/inquiry.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"
#include "core/plant.h"

#define STATE(name) HF_INQUIRY_##name
#define TO(name) (1u << HF_INQUIRY_##name)

static const struct hf_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(WANTED)},
    [STATE(WANTED)] = {"WANTED", TO(ASKED) | TO(DONE)},
    [STATE(ASKED)] = {"ASKED", TO(WANTED) | TO(LEFT) | TO(DONE)},
    [STATE(LEFT)] = {"LEFT", TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_machine_table table = {"inquiry", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_core *core, struct hf_inquiry *inquiry,
                 enum hf_inquiry_state state)
{
    hf_machine_move(&table, &core->config.trace, inquiry, &inquiry->state,
                    state);
}

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
    unlink(core, inquiry);
    hf_effect_add(&core->effects, &inquiry->finished_effect,
                  HF_EFFECT_FINISHED);
}

static void tell(struct hf_core *core, struct hf_inquiry *inquiry)
{
    hf_effect_add(&core->effects, &inquiry->answered_effect,
                  HF_EFFECT_ANSWERED);
}

void hf_inquiry_give_up(struct hf_core *core, struct hf_inquiry *inquiry,
                        const struct hf_error *why)
{
    if (inquiry->state == STATE(LEFT))
        return;
    inquiry->status = why->status;
    memcpy(inquiry->text, why->text, strlen(why->text) + 1);
    tell(core, inquiry);
    if (inquiry->ask_effect.queued) { /* the engine has not heard of it */
        hf_effect_remove(&core->effects, &inquiry->ask_effect);
        inquiry->ask.busy = false;
    }
    if (inquiry->ask.busy)
        move(core, inquiry, STATE(LEFT));
    else
        finish(core, inquiry);
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
    inquiry->ask.whole = inquiry->kind == HF_REQUEST_LIST;
    inquiry->ask.inquiry = inquiry;
    inquiry->ask.effect = &inquiry->ask_effect;
    inquiry->ask_effect.request = &inquiry->ask;
    inquiry->ask_effect.inquiry = inquiry;
    inquiry->answered_effect.inquiry = inquiry;
    inquiry->finished_effect.inquiry = inquiry;
}

void hf_inquiry_want(struct hf_core *core, struct hf_inquiry *inquiry)
{
    struct hf_error why;

    assert(inquiry->state == STATE(IDLE) && inquiry->queue != NULL);
    assert(inquiry->kind == HF_REQUEST_LIST ||
           inquiry->kind == HF_REQUEST_WITHDRAW ||
           inquiry->kind == HF_REQUEST_REVOKE);
    init(core, inquiry);
    link_last(core, inquiry);
    move(core, inquiry, STATE(WANTED));
    if (core->session.closing) {
        hf_error_set(&why, HF_ECLOSED, "the client is closed");
        hf_inquiry_give_up(core, inquiry, &why);
        return;
    }
    hf_inquiry_pump(core, inquiry);
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
    inquiry->ask_at_ms =
        HF_PLANTED(INQUIRY_ONCE)
            ? HF_FOREVER
            : hf_acquisition_again_at_ms(core, &inquiry->retry);
    move(core, inquiry, STATE(WANTED));
    hf_inquiry_pump(core, inquiry);
}

void hf_inquiry_answered(struct hf_core *core, struct hf_inquiry *inquiry,
                         const struct hf_event *event)
{
    assert(event->as.answer.request == &inquiry->ask && inquiry->ask.busy);
    assert(!inquiry->ask_effect.queued);
    inquiry->ask.busy = false;
    if (inquiry->state == STATE(LEFT)) {
        if (HF_PLANTED(INQUIRY_TWICE) && !inquiry->answered_effect.queued)
            tell(core, inquiry);
        finish(core, inquiry);
    } else if (event->kind == HF_EVENT_FAILED) {
        failed(core, inquiry, event);
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

/* ----------------------------------------------------------------- time -- */

static uint64_t limit_ms(const struct hf_core *core,
                         const struct hf_inquiry *inquiry)
{
    if (core->session.ever_connected)
        return inquiry->deadline_at_ms;
    return hf_earlier_ms(inquiry->deadline_at_ms, inquiry->connect_by_ms);
}

static void end_overdue(struct hf_core *core, struct hf_inquiry *inquiry)
{
    uint64_t waited_ms = core->now_ms - inquiry->started_at_ms;
    const char *place = core->config.place;
    const char *trouble = core->session.trouble;
    const char *colon = trouble[0] != '\0' ? ": " : "";
    struct hf_error why;

    if (!core->session.ever_connected)
        hf_error_set(&why, HF_EUNREACHABLE,
                     "no connection to %.200s within %" PRIu64
                     " ms; see that it runs and that the URL is right%s%s",
                     place != NULL && place[0] != '\0' ? place : "the engine",
                     waited_ms, colon, trouble);
    else
        hf_error_set(&why, HF_ETIMEDOUT,
                     "no answer after %" PRIu64 " ms; the session is %s%s%s",
                     waited_ms, hf_state_name(core->session.state), colon,
                     trouble);
    hf_inquiry_give_up(core, inquiry, &why);
}

void hf_inquiry_tick(struct hf_core *core, struct hf_inquiry *inquiry)
{
    if (inquiry->state != STATE(LEFT) &&
        core->now_ms >= limit_ms(core, inquiry))
        end_overdue(core, inquiry);
    else
        hf_inquiry_pump(core, inquiry);
}

uint64_t hf_inquiry_wake_at_ms(const struct hf_core *core,
                               const struct hf_inquiry *inquiry)
{
    uint64_t at_ms = HF_FOREVER;

    if (inquiry->state == STATE(LEFT))
        return HF_FOREVER;
    if (inquiry->state == STATE(WANTED) && hf_session_usable(&core->session))
        at_ms = inquiry->ask_at_ms;
    return hf_earlier_ms(at_ms, limit_ms(core, inquiry));
}

void hf_inquiry_check(const struct hf_core *core,
                      const struct hf_inquiry *inquiry)
{
    assert(inquiry->state > STATE(IDLE) && inquiry->state < STATE(DONE));
    assert(inquiry->ask.busy == (inquiry->state != STATE(WANTED)));
    assert(!inquiry->ask_effect.queued || inquiry->state == STATE(ASKED));
    assert(!core->session.closing || inquiry->state == STATE(LEFT));
}

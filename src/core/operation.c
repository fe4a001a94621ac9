/* SPDX-License-Identifier: Apache-2.0 */
#include "core/operation.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "core/core_state.h"
#include "core/double_barrier.h"
#include "core/error.h"
#include "core/instant.h"

#define STATE(name) HF_OPERATION_##name
#define TO(name) (1u << HF_OPERATION_##name)

static const struct hf_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(WANTED)},
    [STATE(WANTED)] = {"WANTED", TO(ASKED) | TO(DONE)},
    [STATE(ASKED)] = {"ASKED", TO(WANTED) | TO(WATCHING) | TO(LEFT) | TO(DONE)},
    [STATE(WATCHING)] = {"WATCHING", TO(WANTED) | TO(LEFT) | TO(DONE)},
    [STATE(LEFT)] = {"LEFT", TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_machine_table table = {"operation", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_core *core, struct hf_operation *operation,
                 enum hf_operation_state state)
{
    hf_machine_move(&table, &operation->state, state);
    hf_schedule_touch(core, &operation->entry);
}

/* ----------------------------------------------------------------- time -- */

static uint64_t limit_ms(const struct hf_core *core,
                         const struct hf_operation *operation)
{
    if (core->session.ever_connected)
        return operation->deadline_at_ms;
    if (hf_session_refused(&core->session))
        return operation->started_at_ms;
    return hf_earlier_ms(operation->deadline_at_ms, operation->connect_by_ms);
}

static void end_overdue(struct hf_core *core, struct hf_operation *operation)
{
    uint64_t waited_ms = core->now_ms - operation->started_at_ms;
    const char *connection_error = core->session.connection_error;
    const char *colon = connection_error[0] != '\0' ? ": " : "";
    struct hf_error why;

    if (!core->session.ever_connected)
        hf_session_never_connected(&core->session, core->config.place,
                                   waited_ms, &why);
    else if (operation->state == STATE(WATCHING))
        hf_error_set(&why, HF_ETIMEDOUT, "%s after %" PRIu64 " ms",
                     operation->stamp != 0
                         ? "others of the round were still there"
                         : "the barrier was still up",
                     waited_ms);
    else
        hf_error_set(&why, HF_ETIMEDOUT,
                     "no answer after %" PRIu64 " ms; the session is %s%s%s",
                     waited_ms, hf_state_name(core->session.state), colon,
                     connection_error);
    hf_operation_give_up(core, operation, &why);
}

static struct hf_operation *of_entry(const struct hf_schedule_entry *entry)
{
    char *at = (char *)(uintptr_t)entry - offsetof(struct hf_operation, entry);

    return (struct hf_operation *)(void *)at;
}

static struct hf_schedule_keys keys_of(const struct hf_core *core,
                                       const struct hf_schedule_entry *entry)
{
    const struct hf_operation *operation = of_entry(entry);
    struct hf_schedule_keys keys = {HF_FOREVER, HF_FOREVER, false, false};

    if (operation->state == STATE(WANTED))
        keys.request_ms = operation->ask_at_ms;
    if (operation->state != STATE(LEFT))
        keys.limit_ms = limit_ms(core, operation);
    return keys;
}

static void tick(struct hf_core *core, struct hf_schedule_entry *entry)
{
    struct hf_operation *operation = of_entry(entry);

    if (operation->state != STATE(LEFT) &&
        core->now_ms >= limit_ms(core, operation))
        end_overdue(core, operation);
    else
        hf_operation_pump(core, operation);
}

static const struct hf_schedule_ops schedule_ops = {keys_of, tick, NULL};

/* --------------------------------------------------- beginning and end -- */

static void link_last(struct hf_core *core, struct hf_operation *operation)
{
    operation->previous = core->last_operation;
    operation->next = NULL;
    if (core->last_operation != NULL)
        core->last_operation->next = operation;
    else
        core->first_operation = operation;
    core->last_operation = operation;
}

static void unlink(struct hf_core *core, struct hf_operation *operation)
{
    if (operation->previous != NULL)
        operation->previous->next = operation->next;
    else
        core->first_operation = operation->next;
    if (operation->next != NULL)
        operation->next->previous = operation->previous;
    else
        core->last_operation = operation->previous;
}

static void finish(struct hf_core *core, struct hf_operation *operation)
{
    move(core, operation, STATE(DONE));
    hf_schedule_leave(core, &operation->entry);
    unlink(core, operation);
    hf_effect_add(&core->effects, &operation->finished_effect,
                  HF_EFFECT_FINISHED);
}

static void notify(struct hf_core *core, struct hf_operation *operation)
{
    hf_effect_add(&core->effects, &operation->answered_effect,
                  HF_EFFECT_ANSWERED);
}

/* Its user has been told: what has the engine left of it? */
static void leave(struct hf_core *core, struct hf_operation *operation)
{
    bool looks = operation->kind == HF_REQUEST_LOOK &&
                 (operation->state == STATE(ASKED) ||
                  operation->state == STATE(WATCHING));

    if (operation->ask_effect.queued) { /* the engine has not heard of it */
        hf_effect_remove(&core->effects, &operation->ask_effect);
        operation->ask.busy = looks = false;
    }
    if (looks) {
        operation->ask.busy = false;
        hf_effect_add(&core->effects, &operation->ask_effect, HF_EFFECT_FORGET);
    }
    if (looks || operation->ask.busy)
        move(core, operation, STATE(LEFT));
    else
        finish(core, operation);
}

void hf_operation_give_up(struct hf_core *core, struct hf_operation *operation,
                          const struct hf_error *why)
{
    if (operation->state == STATE(LEFT))
        return;
    operation->status = why->status;
    memcpy(operation->text, why->text, strlen(why->text) + 1);
    notify(core, operation);
    leave(core, operation);
}

void hf_operation_cancel(struct hf_core *core, struct hf_operation *operation)
{
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "the wait was cancelled");
    hf_operation_give_up(core, operation, &why);
}

static bool is_of_mark(const struct hf_operation *operation)
{
    return operation->kind == HF_REQUEST_RAISE ||
           operation->kind == HF_REQUEST_LOWER ||
           operation->kind == HF_REQUEST_LOOK;
}

static enum hf_ticket_kind looked_at(const struct hf_operation *operation)
{
    if (operation->stamp != 0)
        return HF_TICKET_PARTICIPANT;
    return operation->mark != 0 ? operation->mark : HF_TICKET_BARRIER;
}

static void init(struct hf_core *core, struct hf_operation *operation)
{
    const struct hf_session *session = &core->session;

    operation->started_at_ms = core->now_ms;
    operation->connect_by_ms =
        hf_after_ms(core->now_ms, core->config.connect_ms);
    if (core->now_ms < session->connect_by_ms && !session->ever_connected)
        operation->connect_by_ms = session->connect_by_ms;
    operation->ask.kind = operation->kind;
    operation->ask.queue = operation->queue;
    operation->ask.ticket = operation->ticket;
    if (operation->kind == HF_REQUEST_RAISE)
        operation->ask.ticket = hf_ticket_id_random(&core->config.random);
    if (is_of_mark(operation))
        operation->ask.ticket_kind = looked_at(operation);
    if (operation->only_try)
        operation->deadline_at_ms =
            hf_after_ms(core->now_ms, core->config.connect_ms);
    operation->ask.whole = operation->kind == HF_REQUEST_LIST;
    if (operation->kind == HF_REQUEST_LIST)
        operation->ask.ticket_kind = operation->mark;
    operation->ask.operation = operation;
    operation->ask.effect = &operation->ask_effect;
    operation->ask_effect.request = &operation->ask;
    operation->answered_effect.operation = operation;
    operation->finished_effect.operation = operation;
}

void hf_operation_want(struct hf_core *core, struct hf_operation *operation)
{
    struct hf_error why;

    assert(operation->state == STATE(IDLE) && operation->queue != NULL);
    assert(operation->kind == HF_REQUEST_LIST ||
           operation->kind == HF_REQUEST_REMOVE ||
           operation->kind == HF_REQUEST_REVOKE || is_of_mark(operation));
    init(core, operation);
    hf_schedule_enter(core, &operation->entry, &schedule_ops);
    link_last(core, operation);
    move(core, operation, STATE(WANTED));
    if (core->session.closing) {
        hf_error_set(&why, HF_ECLOSED, "the client is closed");
        hf_operation_give_up(core, operation, &why);
        return;
    }
    hf_operation_pump(core, operation);
}

/* ------------------------------------------------------------- barriers -- */

static void end_busy(struct hf_core *core, struct hf_operation *operation)
{
    struct hf_error why;

    hf_error_set(&why, HF_EBUSY, "%s",
                 operation->stamp != 0 ? "others of the round are there"
                                       : "the barrier is up");
    hf_operation_give_up(core, operation, &why);
}

static void pass(struct hf_core *core, struct hf_operation *operation)
{
    operation->status = HF_OK;
    notify(core, operation);
    leave(core, operation);
}

static void ask_again(struct hf_core *core, struct hf_operation *operation)
{
    move(core, operation, STATE(WANTED));
    operation->ask_at_ms = 0;
    hf_operation_pump(core, operation);
}

/* Whatever it was that woke us: look. */
static void heard(struct hf_core *core, struct hf_operation *operation)
{
    operation->ask.busy = false;
    ask_again(core, operation);
}

static void looked_at_round(struct hf_core *core,
                            struct hf_operation *operation,
                            const struct hf_snapshot *snapshot)
{
    enum hf_leave_answer answer = hf_double_barrier_decide_leave(
        snapshot, &operation->ticket, operation->stamp, operation->keeps);

    if (answer == HF_LEAVE_PASS)
        pass(core, operation);
    else if (answer == HF_LEAVE_YIELD || operation->only_try)
        end_busy(core, operation);
    else
        move(core, operation, STATE(WATCHING));
}

static void looked(struct hf_core *core, struct hf_operation *operation,
                   const struct hf_event *event)
{
    operation->ask.busy = false;
    operation->retry = (struct hf_retry_state){0};
    if (operation->stamp != 0)
        looked_at_round(core, operation, &event->as.answer.snapshot);
    else if (hf_barrier_passes(&operation->sight, &event->as.answer.snapshot))
        pass(core, operation);
    else if (operation->only_try)
        end_busy(core, operation);
    else
        move(core, operation, STATE(WATCHING));
}

/* A list that crosses the FORGET ends nothing; anything else has. */
static void crossed(struct hf_core *core, struct hf_operation *operation,
                    const struct hf_event *event)
{
    if (event->kind == HF_EVENT_LISTED)
        return;
    hf_effect_remove(&core->effects, &operation->ask_effect);
    finish(core, operation);
}

void hf_operation_session_over(struct hf_core *core,
                               struct hf_operation *operation)
{
    if (operation->state == STATE(WATCHING)) {
        ask_again(core, operation);
    } else if (operation->state == STATE(LEFT) &&
               operation->ask_effect.queued) {
        hf_effect_remove(&core->effects, &operation->ask_effect);
        finish(core, operation);
    }
}

void hf_operation_taken_back(struct hf_core *core,
                             struct hf_operation *operation)
{
    assert(operation->state == STATE(LEFT) && !operation->ask_effect.queued);
    finish(core, operation);
}

/* -------------------------------------------------------------- answers -- */

static void failed(struct hf_core *core, struct hf_operation *operation,
                   const struct hf_event *event)
{
    hf_status status = event->as.answer.status;
    struct hf_error why;

    if (event->as.answer.failure == HF_FAILURE_FATAL) {
        hf_error_set(&why, status == HF_OK ? HF_EPROTOCOL : status, "%s",
                     event->as.answer.text);
        hf_operation_give_up(core, operation, &why);
        return;
    }
    operation->unsure |= event->as.answer.failure == HF_FAILURE_UNSURE;
    operation->ask_at_ms = hf_core_again_at_ms(core, &operation->retry);
    move(core, operation, STATE(WANTED));
    hf_operation_pump(core, operation);
}

void hf_operation_answered(struct hf_core *core, struct hf_operation *operation,
                           const struct hf_event *event)
{
    assert(event->as.answer.request == &operation->ask);
    if (operation->state == STATE(LEFT) && operation->ask_effect.queued) {
        crossed(core, operation, event);
        return;
    }
    assert(!operation->ask_effect.queued);
    if (event->kind == HF_EVENT_CHANGED && operation->state != STATE(LEFT)) {
        heard(core, operation); /* it may have overtaken the list */
        return;
    }
    assert(operation->ask.busy);
    operation->ask.busy = false;
    if (operation->state == STATE(LEFT)) {
        finish(core, operation);
    } else if (event->kind == HF_EVENT_FAILED) {
        failed(core, operation, event);
    } else if (operation->kind == HF_REQUEST_LOOK) {
        looked(core, operation, event);
    } else {
        operation->found = event->as.answer.found || operation->unsure;
        operation->status = HF_OK;
        notify(core, operation);
        finish(core, operation);
    }
}

void hf_operation_pump(struct hf_core *core, struct hf_operation *operation)
{
    if (operation->state != STATE(WANTED) ||
        !hf_session_usable(&core->session) ||
        core->now_ms < operation->ask_at_ms)
        return;
    move(core, operation, STATE(ASKED));
    operation->ask.busy = true;
    operation->ask.engine_data = NULL;
    hf_effect_add(&core->effects, &operation->ask_effect, HF_EFFECT_REQUEST);
}

void hf_operation_check(const struct hf_core *core,
                        const struct hf_operation *operation)
{
    assert(operation->state > STATE(IDLE) && operation->state < STATE(DONE));
    hf_schedule_check_entry(core, &operation->entry);
    assert(operation->state != STATE(WANTED) || !operation->ask.busy);
    assert(operation->state != STATE(ASKED) || operation->ask.busy);
    assert((operation->state != STATE(WATCHING) &&
            operation->state != STATE(LEFT)) ||
           operation->ask.busy == (operation->kind != HF_REQUEST_LOOK));
    assert(!operation->ask_effect.queued || operation->state == STATE(ASKED) ||
           operation->state == STATE(LEFT));
    assert(!core->session.closing || operation->state == STATE(LEFT));
}

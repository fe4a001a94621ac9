/* SPDX-License-Identifier: Apache-2.0 */
/* The states of an operation: it waits for a session, is requested, and is
 * requested again until it is answered, or until its wait is over. */
#include "core/operation.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/list.h"
#include "base/time_math.h"
#include "base/url.h"
#include "core/admission.h"
#include "core/core_state.h"

#define STATE(name) HF_OPERATION_##name
#define TO(name) (1u << HF_OPERATION_##name)

/* The legal moves. */
static const struct hf_state_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(PENDING)},
    [STATE(PENDING)] = {"PENDING", TO(ASKED) | TO(DONE)},
    [STATE(ASKED)] = {"ASKED",
                      TO(PENDING) | TO(WATCHING) | TO(DRAINING) | TO(DONE)},
    [STATE(WATCHING)] = {"WATCHING", TO(PENDING) | TO(DRAINING) | TO(DONE)},
    [STATE(DRAINING)] = {"DRAINING", TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_state_machine table = {"operation", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_core *core, struct hf_operation *operation,
                 enum hf_operation_state state)
{
    hf_state_machine_move(&table, &operation->state, state);
    hf_schedule_touch(core, &operation->entry);
}

/* ----------------------------------------------------------------- time -- */

/* When the operation ends although nothing happens (CLOCK_BOOTTIME). */
static uint64_t ends_at_ms(const struct hf_core *core,
                           const struct hf_operation *operation)
{
    if (core->session.number > 0)
        return operation->deadline_at_ms;
    if (hf_session_refused(&core->session))
        return operation->started_at_ms;
    return hf_min_ms(operation->deadline_at_ms, operation->connect_by_ms);
}

/* What a wait has seen last, for people. */
static const char *still_true(const struct hf_operation *operation)
{
    if (operation->waits_for == HF_WAIT_CHANGE)
        return "nothing had changed";
    return operation->waits_for == HF_WAIT_BARRIER
               ? "the barrier was still up"
               : "others of the round were still there";
}

/* End an operation whose time is over; the text says what it waited for. */
static void end_late_wait(struct hf_core *core, struct hf_operation *operation)
{
    uint64_t waited_ms = core->now_ms - operation->started_at_ms;
    char waited[HF_DURATION_BYTES], outage[HF_SESSION_OUTAGE_BYTES];
    struct hf_error why;

    hf_duration_format_short(waited_ms, waited);
    hf_session_format_outage(&core->session, outage);
    if (core->session.number == 0)
        hf_session_explain_never_connected(
            &core->session, core->config.engine_name, waited_ms, &why);
    else if (operation->state == STATE(WATCHING))
        hf_error_set(&why, HF_ETIMEDOUT, "%s after %s%s", still_true(operation),
                     waited, outage);
    else
        hf_error_set(&why, HF_ETIMEDOUT, "no answer after %s%s", waited,
                     outage);
    hf_operation_give_up(core, operation, &why);
}

/* The keys of the schedule. */
static struct hf_schedule_keys keys_of(const struct hf_core *core,
                                       const struct hf_schedule_entry *entry)
{
    const struct hf_operation *operation =
        container_of(entry, const struct hf_operation, entry);
    struct hf_schedule_keys keys = {HF_FOREVER, HF_FOREVER, false, false};

    if (operation->state == STATE(PENDING))
        keys.request_ms = operation->request_at_ms;
    if (operation->state != STATE(DRAINING))
        keys.deadline_ms = ends_at_ms(core, operation);
    return keys;
}

/* Its time is over, or its request is due. */
static void tick(struct hf_core *core, struct hf_schedule_entry *entry)
{
    struct hf_operation *operation =
        container_of(entry, struct hf_operation, entry);

    if (operation->state != STATE(DRAINING) &&
        core->now_ms >= ends_at_ms(core, operation))
        end_late_wait(core, operation);
    else
        hf_operation_pump(core, operation);
}

static const struct hf_schedule_ops schedule_ops = {keys_of, tick, NULL};

/* ---------------------------------------------------- beginning and end -- */

/* Nothing is left of it: take it out of the core. */
static void finish(struct hf_core *core, struct hf_operation *operation)
{
    move(core, operation, STATE(DONE));
    hf_schedule_leave(core, &operation->entry);
    HF_LIST_REMOVE(&core->operations, operation);
    if (operation->listener != NULL)
        operation->listener->done(core, operation);
    else
        hf_effect_add(&core->effects, &operation->finished_effect,
                      HF_EFFECT_OPERATION_DONE);
}

static void notify_answered(struct hf_core *core,
                            struct hf_operation *operation)
{
    if (operation->listener == NULL)
        hf_effect_add(&core->effects, &operation->answered_effect,
                      HF_EFFECT_OPERATION_ANSWERED);
}

/* Its user was notified of the end: take back what the engine has of it, or
 * wait for the answer in DRAINING. */
static void end_for_user(struct hf_core *core, struct hf_operation *operation)
{
    bool has_watch = operation->kind == HF_REQUEST_WATCH_QUEUE &&
                     (operation->state == STATE(ASKED) ||
                      operation->state == STATE(WATCHING));

    if (operation->request.effect.queued) { /* the engine has not seen it */
        hf_effect_remove(&core->effects, &operation->request.effect);
        operation->request.busy = has_watch = false;
    }
    if (has_watch) {
        operation->request.busy = false;
        hf_effect_add_request(&core->effects, &operation->request,
                              HF_EFFECT_UNWATCH);
    }
    if (has_watch || operation->request.busy)
        move(core, operation, STATE(DRAINING));
    else
        finish(core, operation);
}

void hf_operation_give_up(struct hf_core *core, struct hf_operation *operation,
                          const struct hf_error *why)
{
    if (operation->state == STATE(DRAINING))
        return;
    operation->status = why->status;
    memcpy(operation->text, why->text, strlen(why->text) + 1);
    notify_answered(core, operation);
    end_for_user(core, operation);
}

void hf_operation_cancel(struct hf_core *core, struct hf_operation *operation)
{
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "the wait was cancelled");
    hf_operation_give_up(core, operation, &why);
}

/* Is it about a flag, or does it watch the queue? */
static bool is_of_flag(const struct hf_operation *operation)
{
    return operation->kind == HF_REQUEST_SET_FLAG ||
           operation->kind == HF_REQUEST_CLEAR_FLAG ||
           operation->kind == HF_REQUEST_WATCH_QUEUE;
}

static bool is_of_success(const struct hf_operation *operation)
{
    return operation->kind == HF_REQUEST_READ_SUCCESS ||
           operation->kind == HF_REQUEST_WRITE_SUCCESS;
}

/* The .ticket_kind of its request: a barrier, the participants of a double
 * barrier, or the flag that it sets or clears; 0: a queue of tickets. */
static enum hf_ticket_kind watched_kind(const struct hf_operation *operation)
{
    if (operation->waits_for == HF_WAIT_LEAVE ||
        operation->waits_for == HF_WAIT_LEFT)
        return HF_TICKET_PARTICIPANT;
    if (operation->waits_for == HF_WAIT_CHANGE)
        return operation->flag_kind;
    return operation->flag_kind != 0 ? operation->flag_kind : HF_TICKET_BARRIER;
}

/* Set what only a request of that kind has. */
static void init_data_of_kind(struct hf_operation *operation)
{
    struct hf_request *request = &operation->request;

    switch (operation->kind) {
    case HF_REQUEST_LIST:
        request->detailed = true;
        request->ticket_kind = operation->flag_kind;
        request->texts = &operation->texts;
        break;
    case HF_REQUEST_NAMES:
        request->names = operation->names;
        break;
    case HF_REQUEST_REMOVE:
        request->evicted_by = operation->evicted_by;
        break;
    case HF_REQUEST_WRITE_SUCCESS:
        request->success_token = operation->token;
        break;
    default:
        break;
    }
}

/* Set what the request needs.  A flag that is set gets a new id, so that each
 * setting is another one. */
static void init(struct hf_core *core, struct hf_operation *operation)
{
    const struct hf_session *session = &core->session;

    operation->started_at_ms = core->now_ms;
    operation->connect_by_ms =
        hf_after_ms(core->now_ms, core->config.connect_ms);
    if (core->now_ms < session->connect_by_ms && session->number == 0)
        operation->connect_by_ms = session->connect_by_ms;
    operation->request.kind = operation->kind;
    operation->request.queue = operation->queue;
    operation->request.ticket = operation->ticket;
    if (operation->kind == HF_REQUEST_SET_FLAG)
        operation->request.ticket = hf_ticket_id_random(&core->config.random);
    if (is_of_flag(operation))
        operation->request.ticket_kind = watched_kind(operation);
    if (operation->only_try)
        operation->deadline_at_ms =
            hf_after_ms(core->now_ms, core->config.connect_ms);
    init_data_of_kind(operation);
    operation->request.operation = operation;
    operation->watching_effect.operation = operation;
    operation->answered_effect.operation = operation;
    operation->finished_effect.operation = operation;
}

void hf_operation_start(struct hf_core *core, struct hf_operation *operation)
{
    struct hf_error why;

    assert(operation->state == STATE(IDLE) && operation->queue != NULL);
    assert(operation->kind == HF_REQUEST_LIST ||
           operation->kind == HF_REQUEST_NAMES ||
           operation->kind == HF_REQUEST_EXAMINE ||
           operation->kind == HF_REQUEST_REMOVE ||
           operation->kind == HF_REQUEST_REVOKE || is_of_success(operation) ||
           is_of_flag(operation));
    assert(operation->kind != HF_REQUEST_WRITE_SUCCESS || operation->token > 0);
    assert(operation->waits_for == HF_WAIT_BARRIER ||
           operation->kind == HF_REQUEST_WATCH_QUEUE);
    assert((operation->generation != 0) ==
           (operation->waits_for == HF_WAIT_LEAVE ||
            operation->waits_for == HF_WAIT_LEFT));
    assert(operation->waits_for != HF_WAIT_CHANGE || !operation->only_try);
    init(core, operation);
    hf_schedule_enter(core, &operation->entry, &schedule_ops);
    HF_LIST_APPEND(&core->operations, operation);
    move(core, operation, STATE(PENDING));
    if (core->session.closing) {
        hf_error_set(&why, HF_ECLOSED, "the client is closed");
        hf_operation_give_up(core, operation, &why);
        return;
    }
    hf_operation_pump(core, operation);
}

/* ------------------------------------------------------------- barriers -- */

/* A try ends instead of waiting; so does a wait to leave that has to remove the
 * ticket first. */
static void end_busy(struct hf_core *core, struct hf_operation *operation)
{
    struct hf_error why;

    hf_error_set(&why, HF_EBUSY, "%s",
                 operation->waits_for == HF_WAIT_BARRIER
                     ? "the barrier is up"
                     : "others of the round are there");
    hf_operation_give_up(core, operation, &why);
}

/* The wait is over with HF_OK. */
static void end_passed(struct hf_core *core, struct hf_operation *operation)
{
    operation->status = HF_OK;
    notify_answered(core, operation);
    end_for_user(core, operation);
}

/* Watch the queue again. */
static void send_again(struct hf_core *core, struct hf_operation *operation)
{
    move(core, operation, STATE(PENDING));
    operation->request_at_ms = 0;
    hf_operation_pump(core, operation);
}

/* The wait until the queue has changed is over with ${status}: the engine has
 * no watch any more. */
static void end_watch(struct hf_core *core, struct hf_operation *operation,
                      hf_status status, const char *text)
{
    struct hf_error why = {.status = HF_OK};

    if (status != HF_OK)
        hf_error_set(&why, status, "%s", text);
    operation->status = why.status;
    memcpy(operation->text, why.text, strlen(why.text) + 1);
    notify_answered(core, operation);
    finish(core, operation);
}

/* Whatever has changed: the next list decides. */
static void queue_changed(struct hf_core *core, struct hf_operation *operation)
{
    operation->request.busy = false;
    if (operation->waits_for == HF_WAIT_CHANGE)
        end_watch(core, operation, HF_OK, "");
    else
        send_again(core, operation);
}

/* The watch is set: from here on a change ends the wait. */
static void watch_set(struct hf_core *core, struct hf_operation *operation)
{
    move(core, operation, STATE(WATCHING));
    hf_effect_add(&core->effects, &operation->watching_effect,
                  HF_EFFECT_OPERATION_WATCHING);
}

/* Leaving a double barrier: decide by the list of the participants. */
static void round_listed(struct hf_core *core, struct hf_operation *operation,
                         const struct hf_snapshot *snapshot)
{
    enum hf_leave_answer answer = hf_double_barrier_decide_leave(
        snapshot, &operation->ticket, operation->generation,
        operation->waits_for == HF_WAIT_LEAVE);

    if (answer == HF_LEAVE_PASS)
        end_passed(core, operation);
    else if (answer == HF_LEAVE_YIELD || operation->only_try)
        end_busy(core, operation);
    else
        move(core, operation, STATE(WATCHING));
}

/* The flag of the barrier in ${snapshot}; NULL: the barrier is clear. */
static const struct hf_ticket *find_flag(const struct hf_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (snapshot->tickets[i].kind == HF_TICKET_BARRIER)
            return &snapshot->tickets[i];
    return NULL;
}

/* Take in ${snapshot}, the answer to a WATCH_QUEUE of the flag: is the wait
 * over?
 */
static bool barrier_wait_is_over(struct hf_barrier_wait_state *state,
                                 const struct hf_snapshot *snapshot)
{
    const struct hf_ticket *flag = find_flag(snapshot);

    if (flag == NULL)
        return true;
    if (state->was_set && (state->token != flag->token ||
                           !hf_ticket_id_equal(&state->id, &flag->id)))
        return true;
    *state = (struct hf_barrier_wait_state){true, flag->id, flag->token};
    return false;
}

/* The answer to a WATCH_QUEUE: may the wait end? */
static void queue_listed(struct hf_core *core, struct hf_operation *operation,
                         const struct hf_event *event)
{
    operation->request.busy = false;
    operation->retries = 0;
    if (operation->waits_for == HF_WAIT_CHANGE)
        watch_set(core, operation);
    else if (operation->waits_for != HF_WAIT_BARRIER)
        round_listed(core, operation, &event->as.answer.snapshot);
    else if (barrier_wait_is_over(&operation->barrier_wait,
                                  &event->as.answer.snapshot))
        end_passed(core, operation);
    else if (operation->only_try)
        end_busy(core, operation);
    else
        move(core, operation, STATE(WATCHING));
}

/* The answer crossed the UNWATCH of the same request.  A list does not end the
 * watch, so the engine still gets the UNWATCH; anything else has ended it. */
static void answered_after_unwatch(struct hf_core *core,
                                   struct hf_operation *operation,
                                   const struct hf_event *event)
{
    if (event->kind == HF_EVENT_LISTED)
        return;
    hf_effect_remove(&core->effects, &operation->request.effect);
    finish(core, operation);
}

void hf_operation_session_over(struct hf_core *core,
                               struct hf_operation *operation)
{
    if (operation->state == STATE(WATCHING) &&
        operation->waits_for == HF_WAIT_CHANGE) {
        end_watch(core, operation, HF_ELOST,
                  "the session is over, and with it the watch");
    } else if (operation->state == STATE(WATCHING)) {
        send_again(core, operation);
    } else if (operation->state == STATE(DRAINING) &&
               operation->request.effect.queued) {
        hf_effect_remove(&core->effects, &operation->request.effect);
        finish(core, operation);
    }
}

void hf_operation_unwatched(struct hf_core *core,
                            struct hf_operation *operation)
{
    assert(operation->state == STATE(DRAINING) &&
           !operation->request.effect.queued);
    finish(core, operation);
}

/* -------------------------------------------------------------- success -- */

/* Was a success of the future read by a holder? */
static bool must_write_again(const struct hf_operation *operation)
{
    static const struct hf_ticket_id nobody;

    return operation->success.token != 0 && operation->success.age_ms < 0 &&
           !hf_ticket_id_equal(&operation->ticket, &nobody);
}

/* The success was read.  That is the end, unless it has to be written again. */
static void success_read(struct hf_core *core, struct hf_operation *operation)
{
    if (!must_write_again(operation)) {
        end_passed(core, operation);
        return;
    }
    operation->request.kind = HF_REQUEST_WRITE_SUCCESS;
    operation->request.success_token = operation->success.token;
    operation->retries = 0;
    send_again(core, operation);
}

/* The success was written, as of now; or it was not, because our ticket is gone
 * or a later one has succeeded. */
static void success_written(struct hf_core *core,
                            struct hf_operation *operation, bool written)
{
    bool unsure = operation->tries == HF_TRIES_UNSURE;
    struct hf_error why;

    if (!written) {
        hf_error_set(&why, unsure ? HF_EUNSURE : HF_ELOST,
                     unsure ? "the ticket is gone, and an earlier try may have "
                              "written the success"
                            : "the ticket is gone, or a later one has "
                              "succeeded: nothing was written");
        hf_operation_give_up(core, operation, &why);
        return;
    }
    operation->success.at_utc_ms += operation->success.age_ms;
    operation->success.age_ms = 0;
    end_passed(core, operation);
}

static void success_answered(struct hf_core *core,
                             struct hf_operation *operation,
                             const struct hf_event *event)
{
    if (operation->request.kind == HF_REQUEST_WRITE_SUCCESS) {
        success_written(core, operation, event->as.answer.found);
        return;
    }
    operation->success = event->as.answer.success;
    success_read(core, operation);
}

/* -------------------------------------------------------------- answers -- */

/* Repeat the request after a backoff, or end the operation. */
static void failed(struct hf_core *core, struct hf_operation *operation,
                   const struct hf_event *event)
{
    hf_status status = event->as.answer.status;
    struct hf_error why;

    if (operation->tries == HF_TRIES_NONE)
        operation->tries = HF_TRIES_FAILED;
    if (event->as.answer.failure == HF_FAILURE_FATAL) {
        hf_error_set(&why, status == HF_OK ? HF_EPROTOCOL : status, "%s",
                     event->as.answer.text);
        hf_operation_give_up(core, operation, &why);
        return;
    }
    if (event->as.answer.failure == HF_FAILURE_UNSURE)
        operation->tries = HF_TRIES_UNSURE;
    operation->request_at_ms = hf_core_retry_at_ms(core, &operation->retries);
    move(core, operation, STATE(PENDING));
    hf_operation_pump(core, operation);
}

void hf_operation_answered(struct hf_core *core, struct hf_operation *operation,
                           const struct hf_event *event)
{
    assert(event->as.answer.request == &operation->request);
    if (operation->state == STATE(DRAINING) &&
        operation->request.effect.queued) {
        answered_after_unwatch(core, operation, event);
        return;
    }
    assert(!operation->request.effect.queued);
    if (event->kind == HF_EVENT_QUEUE_CHANGED &&
        operation->state != STATE(DRAINING)) {
        queue_changed(core, operation); /* it ends a watch, which is not busy */
        return;
    }
    assert(operation->request.busy);
    operation->request.busy = false;
    if (operation->state == STATE(DRAINING)) {
        finish(core, operation);
    } else if (event->kind == HF_EVENT_FAILED) {
        failed(core, operation, event);
    } else if (operation->kind == HF_REQUEST_WATCH_QUEUE) {
        queue_listed(core, operation, event);
    } else if (is_of_success(operation)) {
        success_answered(core, operation, event);
    } else {
        operation->found =
            event->as.answer.found || operation->tries == HF_TRIES_UNSURE;
        operation->status = HF_OK;
        if (operation->listener != NULL)
            operation->listener->listed(operation, &event->as.answer.snapshot);
        notify_answered(core, operation);
        finish(core, operation);
    }
}

/* Does it need a session?  An EXAMINE does not, because what it looks for may
 * be why there is none; but it does once the engine has answered that it can
 * say nothing without one. */
static bool needs_session(const struct hf_operation *operation)
{
    return operation->kind != HF_REQUEST_EXAMINE ||
           operation->tries != HF_TRIES_NONE;
}

void hf_operation_pump(struct hf_core *core, struct hf_operation *operation)
{
    if (operation->state != STATE(PENDING) ||
        (needs_session(operation) && !hf_session_usable(&core->session)) ||
        core->now_ms < operation->request_at_ms)
        return;
    move(core, operation, STATE(ASKED));
    operation->request.busy = true;
    operation->request.engine_data = NULL;
    hf_effect_add_request(&core->effects, &operation->request,
                          HF_EFFECT_REQUEST);
}

void hf_operation_check(const struct hf_core *core,
                        const struct hf_operation *operation)
{
    assert(operation->state > STATE(IDLE) && operation->state < STATE(DONE));
    hf_schedule_check_entry(core, &operation->entry);
    assert(operation->state != STATE(PENDING) || !operation->request.busy);
    assert(operation->state != STATE(ASKED) || operation->request.busy);
    assert((operation->state != STATE(WATCHING) &&
            operation->state != STATE(DRAINING)) ||
           operation->request.busy ==
               (operation->kind != HF_REQUEST_WATCH_QUEUE));
    assert(!operation->request.effect.queued ||
           operation->state == STATE(ASKED) ||
           operation->state == STATE(DRAINING));
    assert(!core->session.closing || operation->state == STATE(DRAINING));
}

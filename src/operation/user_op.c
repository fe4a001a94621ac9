/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See user_op.h.
 */
#include "operation/user_op.h"

#include <assert.h>

#include "base/container_of.h"
#include "base/error.h"
#include "monitor/monitor.h"

/* -------------------------------------------------------------- its end -- */

void hf_user_op_dereference(struct hf_user_op *op)
{
    assert(op->references > 0);
    if (--op->references == 0)
        op->ops->destroy(op);
}

/* Get the result of ${op}, which has ended, for its user. */
static void take(struct hf_user_op *op, struct hf_result *result,
                 struct hf_error *why)
{
    why->status = op->status;
    why->text[0] = '\0';
    *result = (struct hf_result){.status = op->status, .text = why->text};
    op->ops->take(op, result, why);
}

/* The .run of the callback that reports the end.  .completion is emptied first,
 * because the function of the user may begin the next operation of the
 * object. */
static void run_done(void *arg)
{
    struct hf_user_op *op = arg;
    struct hf_done done = op->completion.done;
    struct hf_result result;
    struct hf_error why;

    op->completion = (struct hf_completion){.waiter = NULL};
    take(op, &result, &why);
    hf_done_call(op->handle.monitor, &done, &result);
    hf_user_op_dereference(op);
}

/* Report the end of ${op}, a step of another operation, to that operation. */
static void end_step(struct hf_user_op *op)
{
    struct hf_done done = op->completion.done;
    struct hf_result result;
    struct hf_error why;

    op->completion = (struct hf_completion){.waiter = NULL};
    take(op, &result, &why);
    done.fn(done.arg, &result);
    hf_user_op_dereference(op);
}

void hf_user_op_end(struct hf_user_op *op, hf_status status)
{
    struct hf_waiter *waiter = op->completion.waiter;
    const struct hf_done *done = &op->completion.done;
    bool asks = op->asks;

    op->status = status;
    op->completion.waiter = NULL;
    op->asks = false;
    if (asks) /* its thread was woken already */
        waiter->status = status;
    else if (waiter != NULL)
        hf_waiter_answer(op->handle.monitor, waiter, status);
    else if (op->completion.is_step)
        end_step(op);
    else if (done->fn != NULL || done->drop != NULL)
        hf_monitor_queue(op->handle.monitor, &op->callback);
    else
        hf_user_op_dereference(op); /* nobody wants the end */
}

/* --------------------------------------------------------------- asking -- */

/* The .run of a callback that calls .ask. */
static void run_ask(void *arg)
{
    struct hf_user_op *op = arg;
    const struct hf_monitor *monitor = op->handle.monitor;

    op->ops->ask(op);
    if (!hf_fork_is_child(&monitor->fork))
        hf_user_op_dereference(op);
}

void hf_user_op_ask(struct hf_user_op *op, struct hf_callback *callback)
{
    struct hf_waiter *waiter = op->completion.waiter;

    assert(op->ops->ask != NULL && !op->asks && !callback->queued);
    if (waiter != NULL) {
        op->asks = true;
        hf_waiter_answer(op->handle.monitor, waiter, HF_OK);
    } else {
        op->references++; /* held by the callback */
        *callback = (struct hf_callback){.run = run_ask, .arg = op};
        hf_monitor_queue(op->handle.monitor, callback);
    }
}

/* ------------------------------------------------------------ beginning -- */

void hf_user_op_init(struct hf_user_op *op, const struct hf_user_op_ops *ops,
                     struct hf_monitor *monitor, unsigned references)
{
    *op = (struct hf_user_op){
        .ops = ops,
        .handle = {monitor},
        .references = references,
        .callback = {.run = run_done, .arg = op},
    };
}

void hf_user_op_begin(struct hf_user_op *op,
                      const struct hf_completion *completion)
{
    assert(op->completion.waiter == NULL && !op->callback.queued);
    assert(!op->asks);
    assert(completion->waiter == NULL || completion->done.fn == NULL);
    assert(!completion->is_step || completion->done.fn != NULL);
    op->completion = *completion;
    op->references++;
}

hf_status hf_user_op_await(struct hf_user_op *op, struct hf_waiter *waiter,
                           struct hf_result *result, struct hf_error *error)
{
    struct hf_monitor *monitor = op->handle.monitor;
    hf_status status = hf_monitor_wait(monitor, waiter, error);

    while (op->asks) {
        op->asks = false;
        *waiter = (struct hf_waiter){.done = false};
        op->ops->ask(op);
        if (hf_fork_check(&monitor->fork, error) != HF_OK)
            return HF_EFORKED;
        status = hf_monitor_wait(monitor, waiter, error);
    }
    if (!waiter->done) {
        op->completion.waiter = NULL;
        return status;
    }
    take(op, result, error);
    hf_user_op_dereference(op);
    return status;
}

/* ---------------------------------------------------------------- calls -- */

hf_status hf_user_op_run(struct hf_user_call *call, struct hf_result *result)
{
    struct hf_waiter waiter = {.done = false};
    const struct hf_completion completion = {.waiter = &waiter};
    struct hf_error error = {.status = HF_OK};
    hf_status may_block = hf_monitor_may_block(call->monitor, &error);
    struct hf_user_op *op = NULL;
    hf_status status;

    *result = (struct hf_result){.status = HF_OK};
    if ((status = hf_monitor_enter(call->monitor, call->api_name)) != HF_OK)
        return status;
    /* This is begin_call() in the file of the public function, for instance
     * grant_acquire.c. */
    if (may_block == HF_OK)
        op = call->begin(call, &completion, &error);
    status = error.status;
    if (op != NULL) {
        status = hf_user_op_await(op, &waiter, result, &error);
        result->text = ""; /* hf_last_error() will have the text */
        if (call->leave != NULL)
            call->leave(call, op, waiter.done);
        hf_user_op_dereference(op);
    }
    if (status != HF_OK)
        (void)hf_fail(call->api_name, &error);
    hf_monitor_leave(call->monitor);
    return status;
}

hf_status hf_user_op_start(struct hf_user_call *call, struct hf_done done,
                           struct hf_op **handle)
{
    const struct hf_completion completion = {.done = done};
    struct hf_error error = {.status = HF_OK};
    struct hf_user_op *op;
    hf_status status = hf_monitor_enter(call->monitor, call->api_name);

    if (handle != NULL)
        *handle = NULL;
    if (status != HF_OK)
        goto drop;
    op = call->begin(call, &completion, &error);
    if (op == NULL) {
        status = hf_fail(call->api_name, &error);
    } else if (handle != NULL) {
        *handle = &op->handle;
    } else {
        hf_user_op_dereference(op);
    }
    if (call->leave_monitor != NULL)
        call->leave_monitor(call);
    else
        hf_monitor_leave(call->monitor);
    if (status == HF_OK)
        return HF_OK;
drop:
    hf_done_drop(&done);
    return status;
}

/* ---------------------------------------------------------- the handle -- */

void hf_op_cancel(struct hf_op *handle)
{
    struct hf_user_op *op = container_of(handle, struct hf_user_op, handle);
    struct hf_monitor *monitor = handle->monitor;

    if (hf_monitor_enter(monitor, NULL) != HF_OK)
        return;
    op->ops->cancel(op);
    hf_monitor_leave(monitor);
}

void hf_op_free(struct hf_op *handle)
{
    struct hf_monitor *monitor;

    if (handle == NULL)
        return;
    monitor = handle->monitor;
    /* in the child of a fork, where the operation stays allocated */
    if (hf_monitor_enter(monitor, NULL) != HF_OK)
        return;
    /* Keep the monitor until the lock is released, because the operation may
     * have its last reference. */
    hf_monitor_reference(monitor);
    hf_user_op_dereference(container_of(handle, struct hf_user_op, handle));
    hf_monitor_leave(monitor);
    hf_monitor_release(monitor);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a call, cancelling it, and reporting its end.
 */
#include "zookeeper_client/zookeeper_call.h"

#include <assert.h>
#include <stddef.h>

#include "base/error.h"

void hf_zookeeper_call_dereference(struct hf_zookeeper_call *call)
{
    assert(call->references > 0);
    if (--call->references == 0)
        call->ops->destroy(call);
}

/* ------------------------------------------------------------------- end -- */

/* The .run of the callback: report the end. */
static void run_done(void *arg)
{
    struct hf_zookeeper_call *call = arg;
    struct hf_monitor *monitor = call->zookeeper->monitor;
    struct hf_zookeeper_done done = call->done;

    hf_monitor_unlock(monitor);
    if (done.fn != NULL)
        done.fn(done.arg, call->result);
    if (done.drop != NULL)
        done.drop(done.arg);
    hf_monitor_lock(monitor);
    hf_zookeeper_call_dereference(call);
}

void hf_zookeeper_call_end(struct hf_zookeeper_call *call, hf_status status,
                           struct hf_zookeeper_result *result)
{
    struct hf_monitor *monitor = call->zookeeper->monitor;
    struct hf_waiter *waiter = call->waiter;
    bool asks = call->asks;

    call->result = result;
    call->waiter = NULL;
    call->asks = false;
    if (asks)
        waiter->status = status; /* its caller is awake already */
    else if (waiter != NULL)
        hf_waiter_answer(monitor, waiter, status);
    else if (call->done.fn != NULL || call->done.drop != NULL)
        hf_monitor_queue(monitor, &call->done_callback);
    else
        /* No caller waits for it, or not any more. */
        hf_zookeeper_call_dereference(call);
}

/* -------------------------------------------------------------- question -- */

/* The .run of a question. */
static void run_ask(void *arg)
{
    struct hf_zookeeper_call *call = arg;
    const struct hf_monitor *monitor = call->zookeeper->monitor;

    call->ops->ask(call);
    if (!hf_fork_is_child(&monitor->fork))
        hf_zookeeper_call_dereference(call);
}

void hf_zookeeper_call_ask(struct hf_zookeeper_call *call)
{
    struct hf_monitor *monitor = call->zookeeper->monitor;

    if (call->waiter != NULL) {
        call->asks = true;
        hf_waiter_answer(monitor, call->waiter, HF_OK);
    } else {
        call->references++; /* of the callback */
        hf_monitor_queue(monitor, &call->ask_callback);
    }
}

/* Wait until ${waiter}, that of ${call}, is answered because of the end, and
 * reply to questions before that. */
static hf_status await(struct hf_zookeeper_call *call, struct hf_waiter *waiter,
                       struct hf_error *error)
{
    struct hf_monitor *monitor = call->zookeeper->monitor;
    hf_status status = hf_monitor_wait(monitor, waiter, error);

    while (call->asks) {
        call->asks = false;
        *waiter = (struct hf_waiter){.done = false};
        call->ops->ask(call);
        if (hf_fork_is_child(&monitor->fork))
            return HF_EFORKED;
        status = hf_monitor_wait(monitor, waiter, error);
    }
    return waiter->done ? waiter->status : status;
}

/* ----------------------------------------------------------- its handle -- */

/* The call that ${op} is the handle of. */
static struct hf_zookeeper_call *of_op(struct hf_op *op)
{
    size_t offset = offsetof(struct hf_zookeeper_call, op);

    return (struct hf_zookeeper_call *)(void *)((char *)op - offset);
}

static void cancel_op(struct hf_op *op)
{
    struct hf_zookeeper_call *call = of_op(op);

    call->ops->cancel(call);
}

static void dereference_op(struct hf_op *op)
{
    hf_zookeeper_call_dereference(of_op(op));
}

static const struct hf_op_ops op_ops = {
    .cancel = cancel_op,
    .dereference = dereference_op,
};

/* ------------------------------------------------------------- interface -- */

void hf_zookeeper_call_init(struct hf_zookeeper_call *call,
                            struct hf_zookeeper *zookeeper,
                            const struct hf_zookeeper_call_ops *ops,
                            unsigned references)
{
    *call = (struct hf_zookeeper_call){
        .zookeeper = zookeeper,
        .ops = ops,
        .op = {&op_ops, zookeeper->monitor},
        .references = references,
        .done_callback = {.run = run_done, .arg = call},
        .ask_callback = {.run = run_ask, .arg = call},
    };
}

hf_status hf_zookeeper_call_await(struct hf_zookeeper_call *call,
                                  struct hf_waiter *waiter,
                                  struct hf_zookeeper_result **result,
                                  struct hf_error *error)
{
    hf_status status = await(call, waiter, error);

    if (hf_fork_check(&call->zookeeper->monitor->fork, error) != HF_OK)
        return HF_EFORKED;
    if (!waiter->done) {
        call->waiter = NULL; /* it goes on; its end drops the reference */
        return status;
    }
    if (status != HF_OK)
        (void)hf_error_set(error, status, "%s", call->result->text);
    if (result != NULL) {
        *result = call->result;
        call->result = NULL;
    }
    hf_zookeeper_call_dereference(call);
    return status;
}

hf_status hf_zookeeper_call_run(struct hf_zookeeper *zookeeper,
                                const char *name, hf_zookeeper_begin *begin,
                                const void *request, uint64_t wait_ms,
                                struct hf_zookeeper_result **result)
{
    struct hf_monitor *monitor = zookeeper->monitor;
    struct hf_zookeeper_call *call;
    struct hf_waiter waiter = {.done = false};
    const struct hf_zookeeper_call_end end = {.waiter = &waiter};
    struct hf_error error = {.status = HF_OK};
    hf_status status;

    if (result != NULL)
        *result = NULL;
    if (hf_monitor_may_block(monitor, &error) != HF_OK)
        return hf_zookeeper_fail_unlocked(zookeeper, name, &error);
    if ((status = hf_monitor_enter(monitor)) != HF_OK)
        return status;
    call = begin(zookeeper, request, wait_ms, &end, &error);
    status = error.status;
    if (call != NULL) {
        hf_zk_io_run_now(zookeeper->io);
        status = hf_zookeeper_call_await(call, &waiter, result, &error);
        hf_zookeeper_call_dereference(call);
    }
    if (status != HF_OK)
        (void)hf_zookeeper_fail(zookeeper, name, &error);
    hf_monitor_leave(monitor);
    return status;
}

hf_status hf_zookeeper_call_start(struct hf_zookeeper *zookeeper,
                                  const char *name, hf_zookeeper_begin *begin,
                                  const void *request, uint64_t wait_ms,
                                  struct hf_zookeeper_done done,
                                  struct hf_op **handle)
{
    struct hf_monitor *monitor = zookeeper->monitor;
    const struct hf_zookeeper_call_end end = {.done = done};
    struct hf_error error = {.status = HF_OK};
    struct hf_zookeeper_call *call;
    hf_status status = hf_monitor_enter(monitor);
    bool urgent;

    if (handle != NULL)
        *handle = NULL;
    if (status != HF_OK)
        goto drop;
    call = begin(zookeeper, request, wait_ms, &end, &error);
    status = error.status;
    urgent = call == NULL || call->urgent;
    if (call == NULL)
        (void)hf_zookeeper_fail(zookeeper, name, &error);
    else if (handle != NULL)
        *handle = &call->op;
    else
        hf_zookeeper_call_dereference(call);
    if (urgent || !hf_monitor_leave_later(monitor)) {
        hf_zk_io_run_now(zookeeper->io);
        hf_monitor_leave(monitor);
    }
    if (status == HF_OK)
        return HF_OK;
drop:
    if (done.drop != NULL)
        done.drop(done.arg);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting an operation, waiting for it, cancelling it, and reporting its end.
 */
#include "zookeeper_client/zookeeper_operation.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/time_math.h"
#include "zookeeper_client/zookeeper_watch.h"

/* The operation that ${op} is embedded in. */
static struct hf_zookeeper_operation *of_zk_op(struct hf_zk_op *op)
{
    size_t offset = offsetof(struct hf_zookeeper_operation, zk_op);

    return (struct hf_zookeeper_operation *)(void *)((char *)op - offset);
}

/* The same of the user's handle. */
static struct hf_zookeeper_operation *of_op(struct hf_op *op)
{
    size_t offset = offsetof(struct hf_zookeeper_operation, op);

    return (struct hf_zookeeper_operation *)(void *)((char *)op - offset);
}

/* Drop a reference; the last one frees it.  With the lock. */
static void dereference(struct hf_zookeeper_operation *operation)
{
    struct hf_monitor *monitor = operation->zookeeper->monitor;

    assert(operation->references > 0);
    if (--operation->references > 0)
        return;
    hf_zookeeper_result_free(operation->result);
    hf_zookeeper_result_free(operation->zk_op.reserved);
    hf_free(operation);
    hf_monitor_dereference(monitor);
}

/* ------------------------------------------------------------------- end -- */

/* The .run of the callback: report the end. */
static void run_done(void *arg)
{
    struct hf_zookeeper_operation *operation = arg;
    struct hf_monitor *monitor = operation->zookeeper->monitor;
    struct hf_zookeeper_done done = operation->done;

    hf_monitor_unlock(monitor);
    if (done.fn != NULL)
        done.fn(done.arg, operation->result);
    if (done.drop != NULL)
        done.drop(done.arg);
    hf_monitor_lock(monitor);
    dereference(operation);
}

/* Notify the part of the library that has begun it. */
static void end_for_library(struct hf_zookeeper_operation *operation,
                            hf_status status)
{
    struct hf_zookeeper_result *result = operation->result;

    operation->result = NULL;
    operation->on_end.fn(operation->on_end.arg, status, result);
    dereference(operation);
}

/* The queue says how it ended: answer the caller that waits, or queue the
 * callback. */
static void ended(struct hf_zk_op *op, hf_status status,
                  struct hf_zookeeper_result *result)
{
    struct hf_zookeeper_operation *operation = of_zk_op(op);
    struct hf_zookeeper *zookeeper = operation->zookeeper;
    struct hf_waiter *waiter = operation->waiter;
    const struct hf_zookeeper_done *done = &operation->done;

    operation->result = result;
    operation->waiter = NULL;
    if (operation->watch != NULL)
        hf_zookeeper_watch_operation_ended(operation);
    if (operation->on_end.fn != NULL)
        end_for_library(operation, status);
    else if (waiter != NULL)
        hf_waiter_answer(zookeeper->monitor, waiter, status);
    else if (done->fn != NULL || done->drop != NULL)
        hf_monitor_queue(zookeeper->monitor, &operation->done_callback);
    else
        /* No caller waits for it, or not any more. */
        dereference(operation);
}

/* The queue does not use it any more. */
static void released(struct hf_zk_op *op)
{
    dereference(of_zk_op(op));
}

static const struct hf_zk_op_callbacks op_callbacks = {
    .ended = ended,
    .released = released,
};

/* ----------------------------------------------------------- its handle -- */

/* Once an operation has ended, the session of its handle may be over and the
 * loop gone, too. */
void hf_zookeeper_operation_cancel(struct hf_zookeeper_operation *operation)
{
    struct hf_zookeeper *zookeeper = operation->zookeeper;

    if (operation->zk_op.state != HF_ZK_OP_WAITING &&
        operation->zk_op.state != HF_ZK_OP_SENT)
        return;
    hf_zk_op_queue_cancel(&zookeeper->queue, &operation->zk_op, hf_now_ms());
    hf_zookeeper_changed(zookeeper);
}

static void cancel_op(struct hf_op *op)
{
    hf_zookeeper_operation_cancel(of_op(op));
}

static void dereference_op(struct hf_op *op)
{
    dereference(of_op(op));
}

static const struct hf_op_ops op_ops = {
    .cancel = cancel_op,
    .dereference = dereference_op,
};

/* ----------------------------------------------------------------- begin -- */

/* With two references: the queue's, and that of the caller or the callback. */
static struct hf_zookeeper_operation *
new_operation(struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *op,
              uint64_t wait_ms)
{
    const char *path = op->path != NULL ? op->path : "";
    size_t bytes = strlen(path) + 1;
    struct hf_zookeeper_operation *operation =
        hf_alloc(sizeof *operation + bytes);
    struct hf_zookeeper_result *reserved = hf_zk_op_reserve();
    struct hf_zk_op *zk_op;
    uint64_t now_ms = hf_now_ms();

    if (operation == NULL || reserved == NULL) {
        hf_zookeeper_result_free(reserved);
        hf_free(operation);
        return NULL;
    }
    hf_monitor_reference(zookeeper->monitor);
    operation->zookeeper = zookeeper;
    operation->op = (struct hf_op){&op_ops, zookeeper->monitor};
    operation->references = 2;
    operation->done_callback =
        (struct hf_callback){.run = run_done, .arg = operation};
    memcpy(operation->path, path, bytes);
    zk_op = &operation->zk_op;
    zk_op->callbacks = &op_callbacks;
    zk_op->reserved = reserved;
    zk_op->kind = op->kind;
    zk_op->priority = op->priority;
    zk_op->opcode = hf_zk_op_opcode(op);
    zk_op->path = operation->path;
    zk_op->only_try = wait_ms == 0;
    zk_op->deadline_at_ms =
        zk_op->only_try ? HF_FOREVER : hf_deadline_ms(now_ms, wait_ms);
    zk_op->connect_by_ms = hf_after_ms(now_ms, zookeeper->connect_ms);
    return operation;
}

/* ${operation} was never started. */
static void abandon(struct hf_zookeeper_operation *operation)
{
    hf_jute_free(&operation->zk_op.record);
    operation->references = 1;
    dereference(operation);
}

/* Encode ${op} and have the queue start it. */
static hf_status start(struct hf_zookeeper_operation *operation,
                       const struct hf_zookeeper_op *op, struct hf_error *error)
{
    const struct hf_zookeeper_credential credential = {op->scheme, op->data,
                                                       op->bytes};
    struct hf_zookeeper *zookeeper = operation->zookeeper;
    struct hf_zk_op *zk_op = &operation->zk_op;
    hf_status status;

    status = hf_zk_op_encode(op, &zookeeper->context, &zk_op->record, error);
    if (status != HF_OK)
        return status;
    if (op->watch != NULL)
        hf_zookeeper_watch_use(op->watch, operation);
    zk_op->credential = &credential;
    status = hf_zk_op_queue_add(&zookeeper->queue, zk_op, hf_now_ms(), error);
    if (status != HF_OK && operation->watch != NULL)
        hf_zookeeper_watch_operation_ended(operation);
    return status;
}

/* Check ${given} and copy it to ${op}, with the path of its watch where that is
 * the path of the operation. */
static hf_status check(const struct hf_zookeeper *zookeeper,
                       const struct hf_zookeeper_op *given,
                       struct hf_zookeeper_op *op, struct hf_error *error)
{
    hf_status status = HF_OK;

    *op = *given;
    if (op->watch != NULL)
        status = hf_zookeeper_watch_check(zookeeper, op, error);
    if (status != HF_OK)
        return status;
    return hf_zk_op_check(op, &zookeeper->context, error);
}

/* Who gets the end of an operation: one of them. */
struct end {
    struct hf_waiter *waiter;
    struct hf_zookeeper_done done;
    struct hf_zookeeper_on_end on_end;
};

/* Begin ${given}, whose end goes to ${end}.  The operation, with a reference of
 * the caller, of which ${kept} (may be NULL) is set to a copy before any end;
 * NULL, and why in ${error}, if it was refused.  With the lock. */
static struct hf_zookeeper_operation *
begin(struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *given,
      uint64_t wait_ms, const struct end *end,
      struct hf_zookeeper_operation **kept, struct hf_error *error)
{
    struct hf_zookeeper_operation *operation;
    struct hf_zookeeper_op op;

    if (zookeeper->monitor->closing) {
        (void)hf_error_set(error, HF_ECLOSED, "the handle was closed");
        return NULL;
    }
    if (check(zookeeper, given, &op, error) != HF_OK)
        return NULL;
    if ((operation = new_operation(zookeeper, &op, wait_ms)) == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    operation->waiter = end->waiter;
    operation->done = end->done;
    operation->on_end = end->on_end;
    operation->references++; /* of the caller */
    if (kept != NULL)
        *kept = operation;
    if (start(operation, &op, error) != HF_OK) {
        if (kept != NULL)
            *kept = NULL;
        abandon(operation);
        return NULL;
    }
    hf_zookeeper_changed(zookeeper);
    return operation;
}

/* ------------------------------------------------------------- interface -- */

/* Wait for the end of ${operation}, and take what it brought. */
static hf_status await(struct hf_zookeeper_operation *operation,
                       struct hf_waiter *waiter,
                       struct hf_zookeeper_result **result,
                       struct hf_error *error)
{
    hf_status status =
        hf_monitor_wait(operation->zookeeper->monitor, waiter, error);

    if (!waiter->done) {
        operation->waiter = NULL; /* it goes on; its end drops the reference */
        return status;
    }
    if (status != HF_OK)
        (void)hf_error_set(error, status, "%s", operation->result->text);
    if (result != NULL) {
        *result = operation->result;
        operation->result = NULL;
    }
    dereference(operation);
    return status;
}

hf_status hf_zookeeper_run_for(struct hf_zookeeper *zookeeper, const char *call,
                               const struct hf_zookeeper_op *op,
                               uint64_t wait_ms,
                               struct hf_zookeeper_result **result)
{
    struct hf_monitor *monitor = zookeeper->monitor;
    struct hf_zookeeper_operation *operation;
    struct hf_waiter waiter = {.done = false};
    const struct end end = {.waiter = &waiter};
    struct hf_error error = {.status = HF_OK};
    hf_status status;

    if (result != NULL)
        *result = NULL;
    if (hf_monitor_may_block(monitor, &error) != HF_OK)
        return hf_zookeeper_fail_unlocked(zookeeper, call, &error);
    if ((status = hf_monitor_enter(monitor)) != HF_OK)
        return status;
    operation = begin(zookeeper, op, wait_ms, &end, NULL, &error);
    status = error.status;
    if (operation != NULL) {
        status = await(operation, &waiter, result, &error);
        dereference(operation);
    }
    if (status != HF_OK)
        (void)hf_zookeeper_fail(zookeeper, call, &error);
    hf_monitor_leave(monitor);
    return status;
}

hf_status
hf_zookeeper_start_for(struct hf_zookeeper *zookeeper, const char *call,
                       const struct hf_zookeeper_op *op, uint64_t wait_ms,
                       struct hf_zookeeper_done done, struct hf_op **handle)
{
    struct hf_monitor *monitor = zookeeper->monitor;
    const struct end end = {.done = done};
    struct hf_error error = {.status = HF_OK};
    struct hf_zookeeper_operation *operation;
    hf_status status = hf_monitor_enter(monitor);

    if (handle != NULL)
        *handle = NULL;
    if (status != HF_OK)
        goto drop;
    operation = begin(zookeeper, op, wait_ms, &end, NULL, &error);
    status = error.status;
    if (operation == NULL)
        (void)hf_zookeeper_fail(zookeeper, call, &error);
    else if (handle != NULL)
        *handle = &operation->op;
    else
        dereference(operation);
    hf_monitor_leave(monitor);
    if (status == HF_OK)
        return HF_OK;
drop:
    if (done.drop != NULL)
        done.drop(done.arg);
    return status;
}

hf_status hf_zookeeper_operation_begin(
    struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *op,
    uint64_t wait_ms, struct hf_zookeeper_on_end on_end,
    struct hf_zookeeper_operation **operation, struct hf_error *error)
{
    const struct end end = {.on_end = on_end};
    struct hf_zookeeper_operation *begun;

    begun = begin(zookeeper, op, wait_ms, &end, operation, error);
    if (begun == NULL)
        return error->status;
    dereference(begun);
    return HF_OK;
}

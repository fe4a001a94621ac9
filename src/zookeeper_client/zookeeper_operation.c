/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting an operation, cancelling it, and passing on its end.
 */
#include "zookeeper_client/zookeeper_operation.h"

#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/op_queue.h"
#include "zookeeper_client/zookeeper_handle.h"
#include "zookeeper_client/zookeeper_watch.h"

/* The operation that ${op} is embedded in. */
static struct hf_zookeeper_operation *of_zk_op(struct hf_zk_op *op)
{
    return container_of(op, struct hf_zookeeper_operation, zk_op);
}

/* The operation of which ${op} is the part for the user. */
static struct hf_zookeeper_operation *of_user_op(struct hf_user_op *op)
{
    return container_of(op, struct hf_zookeeper_operation, user_op.op);
}

/* ------------------------------------------------------------------- end -- */

/* If ${operation} has read a node, ${result} shows whether the handle may read
 * the node: note that for the watches of the node.  A successful EXISTS does
 * not show it, because servers before 3.7.3 do not check the permission for
 * EXISTS.  A node that does not exist does not count as unreadable. */
static void note_permission(const struct hf_zookeeper_operation *operation,
                            const struct hf_zookeeper_result *result)
{
    struct hf_zookeeper *zookeeper = operation->user_op.zookeeper;
    enum hf_zookeeper_op_kind kind = operation->zk_op.kind;
    bool denied = result->error == HF_ZK_NO_AUTH;

    if (kind != HF_ZOOKEEPER_GET && kind != HF_ZOOKEEPER_CHILDREN &&
        kind != HF_ZOOKEEPER_EXISTS)
        return;
    if (denied || (zookeeper->unreadable > 0 &&
                   (result->error == HF_ZK_NO_NODE ||
                    (result->status == HF_OK && kind != HF_ZOOKEEPER_EXISTS))))
        hf_zookeeper_watches_put_unreadable(zookeeper, operation->path, denied);
}

/* The operation has ended: notify the part of the library that began it, or the
 * user. */
static void ended(struct hf_zk_op *op, hf_status status,
                  struct hf_zookeeper_result *result)
{
    struct hf_zookeeper_operation *operation = of_zk_op(op);
    const struct hf_zookeeper_on_end on_end = operation->on_end;

    note_permission(operation, result);
    if (operation->watch != NULL)
        hf_zookeeper_watch_operation_ended(operation);
    if (on_end.fn == NULL) {
        hf_zookeeper_user_op_end(&operation->user_op, status, result);
    } else {
        on_end.fn(on_end.arg, status, result);
        hf_user_op_dereference(&operation->user_op.op);
    }
}

/* The queue does not use ${op} any more. */
static void released(struct hf_zk_op *op)
{
    hf_user_op_dereference(&of_zk_op(op)->user_op.op);
}

static const struct hf_zk_op_callbacks op_callbacks = {
    .ended = ended,
    .released = released,
};

/* ------------------------------------------------------ for its user -- */

/* After the end of the operation neither the session nor the loop may be used,
 * because they may have been freed. */
void hf_zookeeper_operation_cancel(struct hf_zookeeper_operation *operation)
{
    struct hf_zookeeper *zookeeper = operation->user_op.zookeeper;

    if (operation->zk_op.state != HF_ZK_OP_WAITING &&
        operation->zk_op.state != HF_ZK_OP_SENT)
        return;
    hf_zk_op_queue_cancel(&zookeeper->queue, &operation->zk_op, hf_now_ms());
    hf_zookeeper_changed(zookeeper);
}

static void cancel(struct hf_user_op *op)
{
    hf_zookeeper_operation_cancel(of_user_op(op));
}

static void destroy(struct hf_user_op *op)
{
    struct hf_zookeeper_operation *operation = of_user_op(op);
    struct hf_zookeeper *zookeeper = operation->user_op.zookeeper;

    hf_zookeeper_result_free(operation->user_op.result);
    hf_zookeeper_result_free(operation->zk_op.reserved);
    hf_free(operation);
    hf_zookeeper_dereference(zookeeper);
}

static const struct hf_user_op_ops user_op_ops = {
    .cancel = cancel,
    .take = hf_zookeeper_user_op_take,
    .destroy = destroy,
};

/* ----------------------------------------------------------------- begin -- */

/* A new operation with one reference, for the queue.  NULL: no memory. */
static struct hf_zookeeper_operation *
new_operation(struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *op,
              uint64_t wait_ms)
{
    const char *path = op->path != NULL ? op->path : "";
    size_t bytes = strlen(path) + 1;
    size_t chroot_bytes = strlen(zookeeper->context.chroot);
    struct hf_zookeeper_operation *operation =
        hf_alloc(sizeof *operation + chroot_bytes + bytes);
    struct hf_zookeeper_result *reserved = hf_zk_op_reserve();
    struct hf_zk_op *zk_op;
    uint64_t now_ms = hf_now_ms();

    if (operation == NULL || reserved == NULL) {
        hf_zookeeper_result_free(reserved);
        hf_free(operation);
        return NULL;
    }
    hf_zookeeper_reference(zookeeper);
    hf_zookeeper_user_op_init(&operation->user_op, zookeeper, &user_op_ops, 1);
    memcpy(operation->path, zookeeper->context.chroot, chroot_bytes);
    memcpy(operation->path + chroot_bytes, path, bytes);
    zk_op = &operation->zk_op;
    zk_op->callbacks = &op_callbacks;
    zk_op->reserved = reserved;
    zk_op->kind = op->kind;
    zk_op->priority = op->priority;
    zk_op->opcode = hf_zk_op_opcode(op);
    zk_op->path = operation->path + chroot_bytes;
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
    operation->user_op.op.references = 1;
    hf_user_op_dereference(&operation->user_op.op);
}

/* Encode ${op} and have the queue start it. */
static hf_status start(struct hf_zookeeper_operation *operation,
                       const struct hf_zookeeper_op *op, struct hf_error *error)
{
    const struct hf_zookeeper_credential credential = {op->scheme, op->data,
                                                       op->bytes};
    struct hf_zookeeper *zookeeper = operation->user_op.zookeeper;
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

/* Check ${given} and copy it to ${op}.  An ADD_WATCH gets the path of its
 * watch. */
static hf_status check(const struct hf_zookeeper *zookeeper,
                       const struct hf_zookeeper_op *given,
                       struct hf_zookeeper_op *op, struct hf_error *error)
{
    hf_status status = HF_OK;

    if (hf_zookeeper_is_closing(zookeeper))
        return hf_monitor_explain_closed(zookeeper->monitor, "handle", error);
    *op = *given;
    if (op->watch != NULL)
        status = hf_zookeeper_watch_check(zookeeper, op, error);
    if (status != HF_OK)
        return status;
    return hf_zk_op_check(op, &zookeeper->context, error);
}

/* Begin ${given}.  Its end goes to ${on_end} if that has a function, else to
 * ${completion}.  Returns the operation, with a reference of the caller; NULL,
 * and why in ${error}, if it was refused.  ${kept} (may be NULL) is set to the
 * operation before it can end.  With the lock. */
static struct hf_zookeeper_operation *
begin(struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *given,
      uint64_t wait_ms, const struct hf_zookeeper_completion *completion,
      struct hf_zookeeper_on_end on_end, struct hf_zookeeper_operation **kept,
      struct hf_error *error)
{
    struct hf_zookeeper_operation *operation;
    struct hf_zookeeper_op op;

    if (check(zookeeper, given, &op, error) != HF_OK)
        return NULL;
    if ((operation = new_operation(zookeeper, &op, wait_ms)) == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    hf_zookeeper_user_op_begin(&operation->user_op, completion);
    operation->user_op.urgent = op.priority == HF_ZOOKEEPER_URGENT;
    operation->on_end = on_end;
    operation->user_op.op.references++; /* for the caller of this function */
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

/* The function of type hf_zookeeper_begin that begins one operation; ${request}
 * is a struct hf_zookeeper_op. */
static struct hf_zookeeper_user_op *begin_user_op(
    struct hf_zookeeper *zookeeper, const void *request, uint64_t wait_ms,
    const struct hf_zookeeper_completion *completion, struct hf_error *error)
{
    const struct hf_zookeeper_on_end nobody = {NULL, NULL};
    struct hf_zookeeper_operation *operation =
        begin(zookeeper, request, wait_ms, completion, nobody, NULL, error);

    return operation != NULL ? &operation->user_op : NULL;
}

hf_status hf_zookeeper_run_for(struct hf_zookeeper *zookeeper,
                               const char *api_name,
                               const struct hf_zookeeper_op *op,
                               uint64_t wait_ms,
                               struct hf_zookeeper_result **result)
{
    return hf_zookeeper_user_op_run(zookeeper, api_name, begin_user_op, op,
                                    wait_ms, result);
}

hf_status
hf_zookeeper_start_for(struct hf_zookeeper *zookeeper, const char *api_name,
                       const struct hf_zookeeper_op *op, uint64_t wait_ms,
                       struct hf_zookeeper_done done, struct hf_op **handle)
{
    return hf_zookeeper_user_op_start(zookeeper, api_name, begin_user_op, op,
                                      wait_ms, done, handle);
}

hf_status hf_zookeeper_operation_check(const struct hf_zookeeper *zookeeper,
                                       const struct hf_zookeeper_op *op,
                                       struct hf_error *error)
{
    struct hf_zookeeper_op checked;

    return check(zookeeper, op, &checked, error);
}

hf_status hf_zookeeper_operation_begin(
    struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *op,
    uint64_t wait_ms, struct hf_zookeeper_on_end on_end,
    struct hf_zookeeper_operation **operation, struct hf_error *error)
{
    const struct hf_zookeeper_completion nobody = {.waiter = NULL};
    struct hf_zookeeper_operation *begun =
        begin(zookeeper, op, wait_ms, &nobody, on_end, operation, error);

    if (begun == NULL)
        return error->status;
    hf_user_op_dereference(&begun->user_op.op);
    return HF_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two public calls on the handle of an operation.
 */
#include "operation/op_handle.h"

void hf_op_cancel(struct hf_op *op)
{
    struct hf_monitor *monitor = op->monitor;

    if (hf_monitor_enter(monitor) != HF_OK)
        return;
    op->ops->cancel(op);
    hf_monitor_leave(monitor);
}

void hf_op_free(struct hf_op *op)
{
    struct hf_monitor *monitor;

    if (op == NULL)
        return;
    monitor = op->monitor;
    if (hf_monitor_enter(monitor) != HF_OK)
        return;
    /* Keep the monitor until the lock is released, because the operation may be
     * the last that refers to it. */
    hf_monitor_reference(monitor);
    op->ops->dereference(op);
    hf_monitor_leave(monitor);
    hf_monitor_release(monitor);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two public calls on the handle of an operation.
 */
#include "host/op_handle.h"

void hf_op_cancel(struct hf_op *op)
{
    struct hf_client *client = op->client;

    if (hf_monitor_enter(&client->monitor) != HF_OK)
        return;
    op->ops->cancel(op);
    hf_monitor_leave(&client->monitor);
}

void hf_op_free(struct hf_op *op)
{
    struct hf_client *client;

    if (op == NULL)
        return;
    client = op->client;
    if (hf_monitor_enter(&client->monitor) != HF_OK)
        return;
    /* Keep the client until the lock is released, because the operation may be
     * the last that refers to it. */
    hf_monitor_reference(&client->monitor);
    op->ops->dereference(op);
    hf_monitor_leave(&client->monitor);
    hf_monitor_release(&client->monitor);
}

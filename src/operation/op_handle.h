/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handle that a user has of an operation under way.  It is embedded, as
 * .op, in the object that carries the operation out.  The handle does not know
 * that object; it reaches it by a table of two functions.
 */
#ifndef HF_OPERATION_OP_HANDLE_H
#define HF_OPERATION_OP_HANDLE_H

#include <holdfast/client.h>

#include "monitor/monitor.h"

/* What the object does for its handle.  Both with the monitor's lock. */
struct hf_op_ops {
    /* End the wait, unless it has ended; for hf_op_cancel(). */
    void (*cancel)(struct hf_op *op);
    /* Drop the reference of the handle, and free the object with the last
     * one. */
    void (*dereference)(struct hf_op *op);
};

/* Set once, when the operation is created. */
struct hf_op {
    const struct hf_op_ops *ops;
    struct hf_monitor *monitor; /* whose lock guards the object */
};

#endif

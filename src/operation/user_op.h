/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation of a user, from the call that begins it until its end was
 * reported.  It is embedded in the object that carries it out.  The object
 * begins it, and ends it once; everything that users of different operations
 * have in common is here: a call that waits or a callback, the handle by which
 * the operation is cancelled, and how long the object lives.
 *
 * An operation is kept alive by references: those of the object itself, that of
 * the completion until the end was reported, and that of the user's handle.
 *
 * A call that blocks is the call that starts, and a wait: hf_user_op_run() and
 * hf_user_op_start() differ only in the completion.
 */
#ifndef HF_OPERATION_USER_OP_H
#define HF_OPERATION_USER_OP_H

#include <holdfast/client.h>

#include "monitor/callback_queue.h"
#include "monitor/monitor.h"
#include "operation/done.h"

struct hf_user_op;

/* What the object does for its operation.  All with the lock. */
struct hf_user_op_ops {
    /* The user does not want it any more.  Also called after the end. */
    void (*cancel)(struct hf_user_op *op);
    /* The end is reported: give what it brought to ${result}, whose .status is
     * set, and set ${why} unless this status is HF_OK. */
    void (*take)(struct hf_user_op *op, struct hf_result *result,
                 struct hf_error *why);
    /* Call the function of the user that hf_user_op_ask() is about, with the
     * lock released meanwhile.  NULL: the object asks nothing. */
    void (*ask)(struct hf_user_op *op);
    /* The last reference is gone: free the object. */
    void (*destroy)(struct hf_user_op *op);
};

/* The handle by which a user cancels it. */
struct hf_op {
    struct hf_monitor *monitor; /* whose lock guards the operation; set once */
};

/* The receiver of the end.  Zeroed: there is none. */
struct hf_completion {
    struct hf_waiter *waiter; /* the call that waits, or NULL */
    struct hf_done done;      /* or the callback, if it has a function */
    /* The operation is a step of another one of ours: .done.fn is called where
     * the end is carried out, with the lock, and not by a callback.  It may
     * begin the next step. */
    bool is_step;
};

/* All fields under the monitor's lock. */
struct hf_user_op {
    const struct hf_user_op_ops *ops;
    struct hf_op handle; /* the user's */
    unsigned references;
    hf_status status; /* how it ended */
    struct hf_completion completion;
    bool asks; /* the call that waits was answered because of a question */
    struct hf_callback callback; /* reports the end */
};

/* All with the lock, where nothing else is said. */

/* Initialise ${op}, an operation of ${monitor}, with ${references} of the
 * object. */
void hf_user_op_init(struct hf_user_op *op, const struct hf_user_op_ops *ops,
                     struct hf_monitor *monitor, unsigned references);

/* Drop a reference; the last one destroys the object. */
void hf_user_op_dereference(struct hf_user_op *op);

/* ${op} begins: ${completion} gets its end, and keeps ${op} alive until then.
 * An object may begin anew once the end was reported. */
void hf_user_op_begin(struct hf_user_op *op,
                      const struct hf_completion *completion);

/* ${op} has ended with ${status}: answer the call that waits or the operation
 * that ${op} is a step of, or queue the callback. */
void hf_user_op_end(struct hf_user_op *op, hf_status status);

/* Have .ask called before the end: on the thread of the call that waits, or
 * where callbacks run.  ${callback} is the object's, for this alone; zeroed
 * before the first time, and not queued. */
void hf_user_op_ask(struct hf_user_op *op, struct hf_callback *callback);

/* Wait for the end of ${op}, whose completion has ${waiter}.  Sets ${result} to
 * what it brought, and ${error} to why it failed.  If this thread cannot wait,
 * .done of ${waiter} is false: the operation goes on, and its end is not
 * reported.  HF_EFORKED in the child of a fork that .ask has made, which must
 * not touch the operation. */
hf_status hf_user_op_await(struct hf_user_op *op, struct hf_waiter *waiter,
                           struct hf_result *result, struct hf_error *error);

/* A call of the user that begins an operation, embedded in a struct with its
 * arguments. */
struct hf_user_call {
    const char *api_name; /* which errors name; a static text */
    struct hf_monitor *monitor;
    /* Begin it for ${completion}, and return the operation, with a reference
     * for the caller.  If it was refused: NULL, with the reason in ${error};
     * ${completion} then still is the caller's. */
    struct hf_user_op *(*begin)(struct hf_user_call *call,
                                const struct hf_completion *completion,
                                struct hf_error *error);
    /* The call does not wait for ${op} any more.  ${ended} is false if this
     * thread could not wait: then the operation goes on.  The pointer is NULL
     * if nothing is to be done. */
    void (*leave)(struct hf_user_call *call, struct hf_user_op *op, bool ended);
    /* A call that waits may be answered without any descriptor, so it enters by
     * hf_monitor_enter_guarded(). */
    bool may_need_no_descriptor;
    /* A call that does not wait leaves the monitor by this; NULL: by
     * hf_monitor_leave(). */
    void (*leave_monitor)(struct hf_user_call *call);
};

/* Begin ${call} and wait for its end; ${result} is set.  A call that may not
 * block is refused before it is begun.  Without the lock. */
hf_status hf_user_op_run(struct hf_user_call *call, struct hf_result *result);

/* Begin ${call} and have ${done} called; if it was refused, only its .drop.
 * Sets ${handle}, which may be NULL.  Without the lock. */
hf_status hf_user_op_start(struct hf_user_call *call, struct hf_done done,
                           struct hf_op **handle);

#endif

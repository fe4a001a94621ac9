/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation of a user, from the call that begins it until its end was
 * reported.  It is embedded in the object that carries it out, which begins it
 * and ends it once.  What all operations have in common is here: the call that
 * waits, or the callback; the handle by which the operation is cancelled; and
 * how long the object lives.
 *
 * References keep an operation alive: those of the object itself, one of the
 * completion until the end was reported, and one of the user's handle.
 *
 * A public function that blocks begins the operation and waits; one that does
 * not block begins it with a callback.  So hf_user_op_run() and
 * hf_user_op_start() differ only in the completion.
 */
#ifndef HF_OPERATION_USER_OP_H
#define HF_OPERATION_USER_OP_H

#include <holdfast/client.h>

#include "monitor/callback_queue.h"
#include "monitor/monitor.h"
#include "operation/done.h"

struct hf_user_op;

/* The functions of the object that carries out an operation.  All are called
 * with the lock. */
struct hf_user_op_ops {
    /* The user has cancelled the operation.  Also called after its end. */
    void (*cancel)(struct hf_user_op *op);
    /* The end is being reported: set ${result}, whose .status is set, to what
     * the operation brought, and set ${why} unless that status is HF_OK. */
    void (*take)(struct hf_user_op *op, struct hf_result *result,
                 struct hf_error *why);
    /* Call the function of the user that hf_user_op_ask() asked for, with the
     * lock released meanwhile.  NULL if the object asks nothing. */
    void (*ask)(struct hf_user_op *op);
    /* Free the object, because the last reference was dropped. */
    void (*destroy)(struct hf_user_op *op);
};

/* The handle by which a user cancels an operation. */
struct hf_op {
    struct hf_monitor *monitor; /* its lock guards the operation; set once */
};

/* Who gets the end of an operation.  Zeroed: nobody. */
struct hf_completion {
    struct hf_waiter *waiter; /* the call that waits for the end, or NULL */
    /* the callback that gets the end, if it has a function */
    struct hf_done done;
    /* The operation is a step of another operation.  .done.fn is called with
     * the lock at the place where the operation ends, and not by a callback.
     * It may begin the next step. */
    bool is_step;
};

/* An operation.  All members are used with the monitor's lock. */
struct hf_user_op {
    const struct hf_user_op_ops *ops;
    struct hf_op handle; /* the user's handle */
    unsigned references;
    hf_status status; /* status with which it ended */
    struct hf_completion completion;
    bool asks; /* the call that waits was woken in order to call .ask */
    struct hf_callback callback; /* reports the end */
};

/* The functions below are called with the lock, unless noted otherwise. */

/* Initialise ${op}, an operation guarded by ${monitor}.  ${references} is how
 * many references the object itself holds. */
void hf_user_op_init(struct hf_user_op *op, const struct hf_user_op_ops *ops,
                     struct hf_monitor *monitor, unsigned references);

/* Drop a reference; the last one destroys the object. */
void hf_user_op_dereference(struct hf_user_op *op);

/* Begin ${op}.  ${completion} gets its end, and keeps ${op} alive until then.
 * When the end was reported, the object may begin it again. */
void hf_user_op_begin(struct hf_user_op *op,
                      const struct hf_completion *completion);

/* End ${op} with ${status}: wake the call that waits, continue the operation
 * that ${op} is a step of, or queue the callback. */
void hf_user_op_end(struct hf_user_op *op, hf_status status);

/* Have .ask called before the end: on the thread of the call that waits, or
 * where callbacks run.  ${callback} belongs to the object and is used for
 * nothing else.  It must not be queued, and must be zeroed before the first
 * time. */
void hf_user_op_ask(struct hf_user_op *op, struct hf_callback *callback);

/* Wait for the end of ${op}, whose completion has ${waiter}.  Sets ${result} to
 * what it brought, and ${error} to why it failed.  If this thread cannot wait,
 * .done of ${waiter} stays false: the operation goes on, and its end is not
 * reported.  Returns HF_EFORKED in the child of a fork that .ask has made,
 * which must not touch the operation. */
hf_status hf_user_op_await(struct hf_user_op *op, struct hf_waiter *waiter,
                           struct hf_result *result, struct hf_error *error);

/* A call of a public function that begins an operation, embedded in a struct
 * with its arguments. */
struct hf_user_call {
    const char *api_name; /* name of the function for errors; a static text */
    struct hf_monitor *monitor;
    /* Begin the operation for ${completion}.  Returns it with a reference for
     * the caller.  If it is refused, returns NULL with the reason in ${error},
     * and ${completion} still belongs to the caller. */
    struct hf_user_op *(*begin)(struct hf_user_call *call,
                                const struct hf_completion *completion,
                                struct hf_error *error);
    /* Called when the call stops to wait for ${op}.  ${ended} is false if this
     * thread could not wait, so that the operation goes on.  The pointer may be
     * NULL. */
    void (*leave)(struct hf_user_call *call, struct hf_user_op *op, bool ended);
    /* Leaves the monitor after a call that does not wait.  NULL:
     * hf_monitor_leave() does. */
    void (*leave_monitor)(struct hf_user_call *call);
};

/* Begin ${call} and wait for its end; sets ${result}.  If this thread may not
 * block, the call is refused before it is begun.  Called without the lock. */
hf_status hf_user_op_run(struct hf_user_call *call, struct hf_result *result);

/* Begin ${call} and have ${done} called at its end.  If it is refused, only
 * .drop of ${done} is called.  Sets ${handle}, which may be NULL.  Called
 * without the lock. */
hf_status hf_user_op_start(struct hf_user_call *call, struct hf_done done,
                           struct hf_op **handle);

#endif

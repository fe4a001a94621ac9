/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operation of ZooKeeper: a create, a read, a multi and so on, from the
 * call that started it until its end was reported and the user has freed its
 * handle.  zookeeper_operation_calls.c has the public calls that start one.
 *
 * It is reference-counted: the queue has a reference until it no longer uses
 * the operation, and the user and the callback have theirs
 * (operation/user_op.h).
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_OPERATION_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_OPERATION_H

#include "zookeeper/zk_op.h"
#include "zookeeper_client/zookeeper_user_op.h"

/* The callback for the end of an operation that the library has started for
 * itself.  It is called once, with the lock, from within functions of the
 * queue.  It may begin and cancel other operations.  ${result} becomes the
 * callee's. */
struct hf_zookeeper_on_end {
    void (*fn)(void *arg, hf_status status, struct hf_zookeeper_result *result);
    void *arg;
};

/* All fields are used with the monitor's lock. */
struct hf_zookeeper_operation {
    struct hf_zk_op zk_op;
    struct hf_zookeeper_user_op user_op;
    struct hf_zookeeper_on_end on_end; /* for operations of the library itself;
                                          .fn is NULL in operations of users */
    struct hf_zookeeper_watch *watch;  /* the watch that it sets; NULL: none */
    struct hf_zookeeper_operation *next; /* the next operation that sets the
                                            same watch */
    char path[]; /* the chroot and the path behind it, even if the path is "/";
                    the chroot alone if the operation has no path */
};

/* As hf_zookeeper_run() and hf_zookeeper_start(), for the public call
 * ${api_name}, which the texts of errors name. */
hf_status hf_zookeeper_run_for(struct hf_zookeeper *zookeeper,
                               const char *api_name,
                               const struct hf_zookeeper_op *op,
                               uint64_t wait_ms,
                               struct hf_zookeeper_result **result);
hf_status
hf_zookeeper_start_for(struct hf_zookeeper *zookeeper, const char *api_name,
                       const struct hf_zookeeper_op *op, uint64_t wait_ms,
                       struct hf_zookeeper_done done, struct hf_op **handle);

/* Check ${op} as hf_zookeeper_start() does, without starting it.  Called with
 * the lock. */
hf_status hf_zookeeper_operation_check(const struct hf_zookeeper *zookeeper,
                                       const struct hf_zookeeper_op *op,
                                       struct hf_error *error);

/* Begin ${op} for the library itself.  ${on_end} is called when it ends,
 * perhaps before this returns.  ${wait_ms} is as for hf_zookeeper_start().  If
 * ${operation} is not NULL, it is set before ${on_end} can be called, and may
 * be passed to hf_zookeeper_operation_cancel() until then.  Fails as
 * hf_zookeeper_start() does; ${on_end} is then not called.  Called with the
 * lock. */
hf_status hf_zookeeper_operation_begin(
    struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *op,
    uint64_t wait_ms, struct hf_zookeeper_on_end on_end,
    struct hf_zookeeper_operation **operation, struct hf_error *error);

/* Cancel ${operation} as hf_op_cancel() does; does nothing if it has ended.
 * Called with the lock. */
void hf_zookeeper_operation_cancel(struct hf_zookeeper_operation *operation);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operation of ZooKeeper: a create, a read, a multi and so on, from the
 * call that started it until its end was reported and the user has freed its
 * handle.  zookeeper_operation_calls.c has the public calls that start one.
 *
 * It is kept alive by the queue as long as that uses it, and as every operation
 * of a user is (operation/user_op.h).
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_OPERATION_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_OPERATION_H

#include "zookeeper/zk_op.h"
#include "zookeeper_client/zookeeper_user_op.h"

/* Notified of the end of an operation that a part of the library has started
 * for itself: once, with the lock, while the queue is at work.  It may begin
 * and cancel others.  ${result} becomes the callee's. */
struct hf_zookeeper_on_end {
    void (*fn)(void *arg, hf_status status, struct hf_zookeeper_result *result);
    void *arg;
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_operation {
    struct hf_zk_op zk_op;
    struct hf_zookeeper_user_op user_op;
    struct hf_zookeeper_on_end on_end; /* for operations of the library; .fn is
                                          NULL in those of users */
    struct hf_zookeeper_watch *watch;  /* to be set; NULL: none */
    struct hf_zookeeper_operation *next; /* of the same watch */
    char path[]; /* the chroot with the path behind it, even if that is "/",
                    which servers would drop; the chroot alone if there is no
                    path */
};

/* Carry out ${op} for ${api_name}, which errors name: wait for the end, or
 * start it.  As hf_zookeeper_run() and hf_zookeeper_start(). */
hf_status hf_zookeeper_run_for(struct hf_zookeeper *zookeeper,
                               const char *api_name,
                               const struct hf_zookeeper_op *op,
                               uint64_t wait_ms,
                               struct hf_zookeeper_result **result);
hf_status
hf_zookeeper_start_for(struct hf_zookeeper *zookeeper, const char *api_name,
                       const struct hf_zookeeper_op *op, uint64_t wait_ms,
                       struct hf_zookeeper_done done, struct hf_op **handle);

/* Can ${op} be carried out?  As hf_zookeeper_start() fails.  With the lock. */
hf_status hf_zookeeper_operation_check(const struct hf_zookeeper *zookeeper,
                                       const struct hf_zookeeper_op *op,
                                       struct hf_error *error);

/* Begin ${op} for a part of the library.  ${on_end} is called when it ends,
 * perhaps from within.  ${wait_ms} is as for hf_zookeeper_start().
 * ${operation} (may be NULL) is set before that, to what can be passed to
 * hf_zookeeper_operation_cancel() until the end.  Fails as
 * hf_zookeeper_start(), and then ${on_end} is not called.  With the lock. */
hf_status hf_zookeeper_operation_begin(
    struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *op,
    uint64_t wait_ms, struct hf_zookeeper_on_end on_end,
    struct hf_zookeeper_operation **operation, struct hf_error *error);

/* End ${operation} as hf_op_cancel() does.  With the lock. */
void hf_zookeeper_operation_cancel(struct hf_zookeeper_operation *operation);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operations of users on a handle have in common
 * (operation/user_op.h): the end of each brings a result of ZooKeeper, its
 * callback is a struct hf_zookeeper_done, and what it begins is sent.
 *
 * It is embedded, as .user_op, in the object that carries it out: one operation
 * of ZooKeeper (zookeeper_operation.h), or one that is retried
 * (zookeeper_retry.h).
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_USER_OP_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_USER_OP_H

#include <holdfast/zookeeper.h>

#include "operation/user_op.h"

/* The receiver of the end.  Zeroed: there is none. */
struct hf_zookeeper_completion {
    struct hf_waiter *waiter;            /* the call that waits, or NULL */
    struct hf_zookeeper_result **result; /* for the result of that call, or
                                            NULL */
    struct hf_zookeeper_done done;       /* the callback, if no call waits */
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_user_op {
    struct hf_user_op op;
    struct hf_zookeeper *zookeeper;
    struct hf_zookeeper_completion completion;
    struct hf_zookeeper_result *result; /* until the user gets it */
    bool urgent; /* it is sent at once, also when callbacks begin others */
};

/* With the lock, where nothing else is said. */

/* Make ${user_op} one of ${zookeeper}; as hf_user_op_init(). */
void hf_zookeeper_user_op_init(struct hf_zookeeper_user_op *user_op,
                               struct hf_zookeeper *zookeeper,
                               const struct hf_user_op_ops *ops,
                               unsigned references);

/* ${user_op} begins, for ${completion}; as hf_user_op_begin(). */
void hf_zookeeper_user_op_begin(
    struct hf_zookeeper_user_op *user_op,
    const struct hf_zookeeper_completion *completion);

/* ${user_op} has ended with ${result}, which becomes the user's; as
 * hf_user_op_end().
 */
void hf_zookeeper_user_op_end(struct hf_zookeeper_user_op *user_op,
                              hf_status status,
                              struct hf_zookeeper_result *result);

/* The .take of the ops of every such operation. */
void hf_zookeeper_user_op_take(struct hf_user_op *op, struct hf_result *result,
                               struct hf_error *why);

/* Begins something for ${request}, and has its end go to ${completion}.
 * Returns the operation, with a reference of the caller; NULL, and why in
 * ${error}, if it was refused. */
typedef struct hf_zookeeper_user_op *hf_zookeeper_begin(
    struct hf_zookeeper *zookeeper, const void *request, uint64_t wait_ms,
    const struct hf_zookeeper_completion *completion, struct hf_error *error);

/* Call ${begin} for the public call ${api_name}, which errors name, and wait
 * for the end; or have ${done} called at the end.  As hf_zookeeper_run() and
 * hf_zookeeper_start().  Without the lock. */
hf_status hf_zookeeper_user_op_run(struct hf_zookeeper *zookeeper,
                                   const char *api_name,
                                   hf_zookeeper_begin *begin,
                                   const void *request, uint64_t wait_ms,
                                   struct hf_zookeeper_result **result);
hf_status hf_zookeeper_user_op_start(struct hf_zookeeper *zookeeper,
                                     const char *api_name,
                                     hf_zookeeper_begin *begin,
                                     const void *request, uint64_t wait_ms,
                                     struct hf_zookeeper_done done,
                                     struct hf_op **handle);

#endif

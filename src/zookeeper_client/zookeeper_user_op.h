/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all operations of users on a handle have in common, on top of
 * operation/user_op.h: each ends with a struct hf_zookeeper_result, its
 * callback is a struct hf_zookeeper_done, and what it has begun is sent at once
 * or together with others.
 *
 * It is embedded, as .user_op, in the object that carries it out: a single
 * operation (zookeeper_operation.h), or an operation with retries
 * (zookeeper_retry.h).
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_USER_OP_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_USER_OP_H

#include <holdfast/zookeeper.h>

#include "operation/user_op.h"

/* Who gets the result at the end.  All zeros: nobody. */
struct hf_zookeeper_completion {
    struct hf_waiter *waiter;            /* the call that waits, or NULL */
    struct hf_zookeeper_result **result; /* where that call wants the result, or
                                            NULL */
    struct hf_zookeeper_done done;       /* the callback, if no call waits */
};

/* All fields are used with the monitor's lock. */
struct hf_zookeeper_user_op {
    struct hf_user_op op;
    struct hf_zookeeper *zookeeper;
    struct hf_zookeeper_completion completion;
    struct hf_zookeeper_result *result; /* until the user gets it */
    bool urgent; /* it is sent at once, even if it was begun in a callback */
};

/* Called with the lock, unless something else is said. */

/* Initialise ${user_op} for ${zookeeper}, as hf_user_op_init() does. */
void hf_zookeeper_user_op_init(struct hf_zookeeper_user_op *user_op,
                               struct hf_zookeeper *zookeeper,
                               const struct hf_user_op_ops *ops,
                               unsigned references);

/* Note that ${user_op} begins, and that ${completion} gets its end; as
 * hf_user_op_begin(). */
void hf_zookeeper_user_op_begin(
    struct hf_zookeeper_user_op *user_op,
    const struct hf_zookeeper_completion *completion);

/* End ${user_op} with ${status} and ${result}, which becomes the user's; as
 * hf_user_op_end(). */
void hf_zookeeper_user_op_end(struct hf_zookeeper_user_op *user_op,
                              hf_status status,
                              struct hf_zookeeper_result *result);

/* Must be .take in the ops of every operation with this struct. */
void hf_zookeeper_user_op_take(struct hf_user_op *op, struct hf_result *result,
                               struct hf_error *why);

/* A function that begins an operation as ${request} says, whose end goes to
 * ${completion}.  It returns the operation, with a reference for the caller; or
 * NULL, with the reason in ${error}, if the operation was refused. */
typedef struct hf_zookeeper_user_op *hf_zookeeper_begin(
    struct hf_zookeeper *zookeeper, const void *request, uint64_t wait_ms,
    const struct hf_zookeeper_completion *completion, struct hf_error *error);

/* Begin an operation by ${begin} for the public call ${api_name}, which the
 * texts of errors name.  hf_zookeeper_user_op_run() waits for the end, as
 * hf_zookeeper_run().  hf_zookeeper_user_op_start() has ${done} called at the
 * end, as hf_zookeeper_start().  Called without the lock. */
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

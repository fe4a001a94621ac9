/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation under way, from the call that started it until its end was
 * reported and the user has freed its handle.
 *
 * It is kept alive by the queue until that does not use it any more, by the
 * caller that waits or by the callback, and by the user's handle.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_OPERATION_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_OPERATION_H

#include "host/op_handle.h"
#include "zookeeper_client/zookeeper_handle.h"

/* All fields under the monitor's lock. */
struct hf_zookeeper_operation {
    struct hf_zk_op zk_op;
    struct hf_zookeeper *zookeeper;
    struct hf_op op;                    /* the user's handle */
    unsigned references;                /* see above */
    struct hf_zookeeper_result *result; /* until the user gets it */
    struct hf_waiter *waiter;           /* the call that waits, or NULL */
    struct hf_zookeeper_done done;
    struct hf_callback done_callback;
    struct hf_zookeeper_watch *watch;    /* to be set; NULL: none */
    struct hf_zookeeper_operation *next; /* of the same watch */
    char path[];                         /* of the user; "" if there is none */
};

/* Carry out ${op} for ${call}, which errors name: wait for the end, or start
 * it.  As hf_zookeeper_run() and hf_zookeeper_start(). */
hf_status hf_zookeeper_run_for(struct hf_zookeeper *zookeeper, const char *call,
                               const struct hf_zookeeper_op *op,
                               uint64_t wait_ms,
                               struct hf_zookeeper_result **result);
hf_status
hf_zookeeper_start_for(struct hf_zookeeper *zookeeper, const char *call,
                       const struct hf_zookeeper_op *op, uint64_t wait_ms,
                       struct hf_zookeeper_done done, struct hf_op **handle);

#endif

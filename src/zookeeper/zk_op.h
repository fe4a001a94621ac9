/* SPDX-License-Identifier: Apache-2.0 */
/* An operation of a handle of the public client (holdfast/zookeeper.h).
 * op_queue.h sends it and ends it. */
#ifndef HF_ZOOKEEPER_ZK_OP_H
#define HF_ZOOKEEPER_ZK_OP_H

#include <holdfast/zookeeper.h>

#include "base/heap.h"
#include "zookeeper/zk_session.h"

struct hf_zk_op;
struct hf_zk_op_list;
struct hf_zk_op_queue;

enum hf_zk_op_state {
    HF_ZK_OP_WAITING,
    HF_ZK_OP_SENT,
    HF_ZK_OP_ABANDONED, /* it ended while it was in flight; its answer is still
                           to come */
    HF_ZK_OP_ENDED,
};

/* What the queue calls. */
struct hf_zk_op_callbacks {
    /* Called once for each operation: ${op} has ended with ${status}.
     * ${result} is its .reserved, filled in with the answer; it belongs to the
     * callee. */
    void (*ended)(struct hf_zk_op *op, hf_status status,
                  struct hf_zookeeper_result *result);
    /* Called after .ended: the queue does not use ${op} any more. */
    void (*released)(struct hf_zk_op *op);
};

/* An operation, embedded in the struct of its user.  Zero it, set the fields up
 * to .record, and pass it to hf_zk_op_queue_add(). */
struct hf_zk_op {
    const struct hf_zk_op_callbacks *callbacks;
    enum hf_zookeeper_op_kind kind;
    enum hf_zookeeper_priority priority;
    enum hf_zk_opcode opcode;
    const char *path; /* for texts; valid until .ended; "" if there is none */
    bool only_try;    /* fail at once instead of waiting for a connection; the
                         first connection is waited for */
    uint64_t deadline_at_ms;       /* HF_FOREVER: none */
    uint64_t connect_by_ms;        /* the deadline until there is a first
                                      connection */
    struct hf_zk_watcher *watcher; /* the watcher that it sets; NULL: none */
    struct hf_zookeeper_result *reserved; /* made by hf_zk_op_reserve(); NULL:
                                             nobody wants a result */
    /* Only for an ADD_AUTH, and needed only during hf_zk_op_queue_add(). */
    const struct hf_zookeeper_credential *credential;
    bool keeps_record;            /* the queue does not free .record, because
                                     the user uses it again */
    struct hf_jute_writer record; /* the request without its header; freed by
                                     the queue when the operation ends */
    /* Written by the queue only; .list, .next and .previous by op_waiting.c
     * only. */
    struct hf_zk_op_queue *queue;
    enum hf_zk_op_state state;
    unsigned cuts; /* connections that ended while this was the only call in
                      flight, see op_queue.h */
    struct hf_zk_op_list *list; /* the list that it is in; NULL: none */
    struct hf_zk_op *next;
    struct hf_zk_op *previous;
    struct hf_heap_node wake; /* in .wakes of the queue */
    struct hf_zk_call call;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a queue that wait, in the order in which they are sent: by
 * priority, and within a priority in the order in which they were started.
 * Operations that were sent on a connection that has ended are older than those
 * that were never sent, so they are in lists of their own.
 */
#ifndef HF_ZOOKEEPER_OP_WAITING_H
#define HF_ZOOKEEPER_OP_WAITING_H

#include <stddef.h>

struct hf_zk_op;

#define HF_ZK_PRIORITIES 3

/* Operations in order. */
struct hf_zk_op_list {
    struct hf_zk_op *first;
    struct hf_zk_op *last;
};

/* Zero: nothing waits.  Others read the fields; only op_waiting.c writes
 * them. */
struct hf_zk_op_waiting {
    /* By priority: .repeated were sent on a connection that has ended, .added
     * were not sent yet.  .repeated are older and are sent first. */
    struct hf_zk_op_list repeated[HF_ZK_PRIORITIES];
    struct hf_zk_op_list added[HF_ZK_PRIORITIES];
    /* The ADD_AUTH operations whose credential was not answered yet.  They
     * count as sent, because the session sends the credential by itself. */
    struct hf_zk_op_list credentials;
    size_t count; /* operations in all of these lists */
};

/* Append ${op} to the operations of its priority. */
void hf_zk_op_waiting_add(struct hf_zk_op_waiting *waiting,
                          struct hf_zk_op *op);

/* Have ${op} wait again, because it was sent on a connection that has ended.
 * It waits ahead of the operations of its priority that were never sent, and
 * behind those for which this was called before.  hf_zk_op_waiting_suspended()
 * must have been called first. */
void hf_zk_op_waiting_repeat(struct hf_zk_op_waiting *waiting,
                             struct hf_zk_op *op);

/* Have ${op}, an ADD_AUTH, wait for the answer to its credential. */
void hf_zk_op_waiting_add_credential(struct hf_zk_op_waiting *waiting,
                                     struct hf_zk_op *op);

/* Remove ${op} from its list; does nothing if it is in none. */
void hf_zk_op_waiting_remove(struct hf_zk_op_waiting *waiting,
                             struct hf_zk_op *op);

/* The next operation to send, or NULL. */
struct hf_zk_op *hf_zk_op_waiting_next(const struct hf_zk_op_waiting *waiting);

/* To be called when a connection ends.  Empties .repeated, so that
 * hf_zk_op_waiting_repeat() can fill it with the operations that were sent on
 * this connection.  Operations that are still there from an earlier connection
 * were not sent on this one, so they go to the front of .added. */
void hf_zk_op_waiting_suspended(struct hf_zk_op_waiting *waiting);

/* Move the operations with .only_try to ${tries}, which is empty.  .count
 * includes them until they are removed.  No operation with .only_try is in
 * .repeated, because such operations are not sent again. */
void hf_zk_op_waiting_take_tries(struct hf_zk_op_waiting *waiting,
                                 struct hf_zk_op_list *tries);

#endif

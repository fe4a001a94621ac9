/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a queue that wait, in the order in which they are sent: by
 * priority, and within one in the order of starting.  Operations that were sent
 * on a connection that has ended are older than those that were never sent, so
 * the two are kept apart.
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
    /* Each ADD_AUTH whose credential was not answered.  The session has the
     * credential, so these count as sent. */
    struct hf_zk_op_list credentials;
    size_t count; /* operations in all of these lists */
};

/* ${op} waits as the last one of its priority. */
void hf_zk_op_waiting_add(struct hf_zk_op_waiting *waiting,
                          struct hf_zk_op *op);

/* ${op} was sent on a connection that ends: it waits ahead of the operations of
 * its priority that were never sent, and behind those for which this was called
 * before.  Called after hf_zk_op_waiting_suspended(). */
void hf_zk_op_waiting_repeat(struct hf_zk_op_waiting *waiting,
                             struct hf_zk_op *op);

/* ${op} waits for the answer to its credential. */
void hf_zk_op_waiting_add_credential(struct hf_zk_op_waiting *waiting,
                                     struct hf_zk_op *op);

/* ${op} waits no longer; does nothing if it did not. */
void hf_zk_op_waiting_remove(struct hf_zk_op_waiting *waiting,
                             struct hf_zk_op *op);

/* The next operation to send, or NULL. */
struct hf_zk_op *hf_zk_op_waiting_next(const struct hf_zk_op_waiting *waiting);

/* The connection ends.  Make .repeated empty for the operations that were sent
 * on it, which come next.  Those that an earlier connection left there were not
 * sent again, so they are younger: they go to the front of .added. */
void hf_zk_op_waiting_suspended(struct hf_zk_op_waiting *waiting);

/* Move the operations with .only_try to ${tries}, which is empty.  .count
 * includes them until they are removed.  .repeated has none of them, because
 * they are not sent again. */
void hf_zk_op_waiting_take_tries(struct hf_zk_op_waiting *waiting,
                                 struct hf_zk_op_list *tries);

#endif

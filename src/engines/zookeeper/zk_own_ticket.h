/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tickets of this session, from the answer to their create until nothing of
 * them is left.
 *
 * What is known of them does not depend on any list: under which names the
 * server has their nodes, and since when.  So a ticket of ours is checked,
 * watched and deleted without one.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_OWN_TICKET_H
#define HF_ENGINES_ZOOKEEPER_ZK_OWN_TICKET_H

#include "engines/zookeeper/zk_queue.h"

/* A ticket of this session: a node, or, of a lease, as many as it has permits,
 * made at once and numbered one after the other. */
struct hf_zk_own_ticket {
    struct hf_tree_node by_id;     /* first */
    struct hf_zk_own_ticket *next; /* in the order of proofs */
    struct hf_zk_own_ticket **link;
    struct hf_zk_queue *queue;
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    int64_t czxid;    /* of the node that was enqueued */
    int32_t sequence; /* of its first node; 0 of permits */
    uint32_t weight;
    bool removing; /* its delete is under way, or got no answer */
    /* Its downgrade is under way, or got no answer: it has .prefix, a write
     * ticket's, or already that of the read ticket. */
    bool downgrading;
    size_t prefix_bytes;           /* none of permits and participants */
    char prefix[HF_ZK_NODE_BYTES]; /* of all its nodes' names */
};

struct hf_zk_own_tickets {
    struct hf_tree ids;
    struct hf_zk_own_ticket *first; /* in the order of proofs */
    struct hf_zk_own_ticket *
        *end; /* where the next one is linked; NULL: .first */
};

/* Our ticket called ${id}, or NULL. */
struct hf_zk_own_ticket *hf_zk_own_ticket_find(const struct hf_zk *zk,
                                               const struct hf_ticket_id *id);

/* The child called ${name}, ${bytes} bytes without a NUL, is ours, with
 * ${weight} - 1 more that follow it in number.  NULL for lack of memory or if
 * it is not what we call our tickets. */
struct hf_zk_own_ticket *hf_zk_own_ticket_add(struct hf_zk *zk,
                                              struct hf_zk_queue *queue,
                                              const char *name, size_t bytes,
                                              uint32_t weight, int64_t czxid);

/* Nothing of ${own} is left: free it.  May free its queue. */
void hf_zk_own_ticket_drop(struct hf_zk *zk,
                           struct hf_zk_own_ticket *own_ticket);

/* The path of its ${nth} node, as hf_zk_child_path(). */
const char *hf_zk_own_ticket_path(struct hf_zk *zk,
                                  const struct hf_zk_own_ticket *own_ticket,
                                  uint32_t nth);

/* What the node of ${own}, a write ticket, is called as a read ticket's; and
 * that it is. */
void hf_zk_own_ticket_read_name(const struct hf_zk *zk,
                                const struct hf_zk_own_ticket *own_ticket,
                                char name[HF_ZK_NODE_BYTES]);
void hf_zk_own_ticket_downgraded(const struct hf_zk *zk,
                                 struct hf_zk_own_ticket *own_ticket);

/* The node at ${path} is gone; perhaps it was of a ticket of ours, which has
 * then gone as a whole. */
void hf_zk_own_ticket_node_gone(struct hf_zk *zk, const char *path);

/* Have ${own} deleted, by ${call}. */
void hf_zk_own_ticket_delete(struct hf_zk *zk,
                             const struct hf_zk_own_ticket *own_ticket,
                             struct hf_zk_call *call);

/* Put ${own} behind all others in the order of proofs. */
void hf_zk_own_ticket_move_last(struct hf_zk *zk,
                                struct hf_zk_own_ticket *own_ticket);

void hf_zk_own_tickets_init(struct hf_zk_own_tickets *tickets);

/* Forget all of them. */
void hf_zk_own_tickets_clear(struct hf_zk *zk);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets of this session, from the answer to their create until they are
 * gone.  A lease is gone as soon as one of its nodes is.
 *
 * What is known of them does not depend on any list: under which names the
 * server has their nodes, and their czxid.  So a ticket of ours can be
 * checked, watched and deleted without a list. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_OWN_TICKET_H
#define HF_ENGINES_ZOOKEEPER_ZK_OWN_TICKET_H

#include "core/evicted_by.h"
#include "engines/zookeeper/zk_queue.h"

/* A ticket of this session: one node, or, for a lease, one node for each
 * permit.  The nodes of a lease are created together and numbered
 * consecutively. */
struct hf_zk_engine_own_ticket {
    struct hf_tree_node by_id;
    /* In the order of proofs: longest unchecked first. */
    struct hf_zk_engine_own_ticket *next;
    struct hf_zk_engine_own_ticket **link;
    struct hf_zk_engine_queue *queue; /* in use by this ticket */
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    int64_t czxid;    /* of its first node; the fencing token */
    int32_t sequence; /* of its first node; 0 for kazoo's permits */
    uint32_t weight;  /* how many nodes it has */
    bool removing;    /* its delete is in flight, or got no answer */
    /* Its downgrade is in flight or got no answer.  .prefix is still the write
     * ticket's, but the node may have the read ticket's already. */
    bool downgrading;
    size_t prefix_bytes; /* 0 for kazoo's permits and for participants */
    char prefix[HF_ZK_NODE_BYTES]; /* the common start of its nodes' names */
};

/* All tickets of this session. */
struct hf_zk_engine_own_tickets {
    struct hf_tree ids;
    struct hf_zk_engine_own_ticket *first; /* in the order of proofs */
    /* Where the next ticket is linked; NULL: at .first. */
    struct hf_zk_engine_own_ticket **end;
};

/* Our ticket ${id}, or NULL. */
struct hf_zk_engine_own_ticket *
hf_zk_engine_own_ticket_find(const struct hf_zk_engine *zk,
                             const struct hf_ticket_id *id);

/* Remember that the child ${name}, which was parsed to ${node}, is ours, and
 * ${weight} - 1 more with the following numbers.  NULL for lack of memory, or
 * if no server gives a ticket of ours that name. */
struct hf_zk_engine_own_ticket *hf_zk_engine_own_ticket_add(
    struct hf_zk_engine *zk, struct hf_zk_engine_queue *queue,
    const struct hf_zk_engine_node *node, struct hf_jute_piece name,
    uint32_t weight, int64_t czxid);

/* Free ${own_ticket}, which is gone.  May free its queue. */
void hf_zk_engine_own_ticket_free(struct hf_zk_engine *zk,
                                  struct hf_zk_engine_own_ticket *own_ticket);

/* The path of the ${nth} node of ${own_ticket}; valid as that of
 * hf_zk_engine_child_path(). */
const char *
hf_zk_engine_own_ticket_path(struct hf_zk_engine *zk,
                             const struct hf_zk_engine_own_ticket *own_ticket,
                             uint32_t nth);

/* hf_zk_engine_own_ticket_read_name() writes the name that a write ticket of
 * ours has after a downgrade.  hf_zk_engine_own_ticket_downgraded() notes that
 * the downgrade has happened. */
void hf_zk_engine_own_ticket_read_name(
    const struct hf_zk_engine *zk,
    const struct hf_zk_engine_own_ticket *own_ticket,
    char name[HF_ZK_NODE_BYTES]);
void hf_zk_engine_own_ticket_downgraded(
    const struct hf_zk_engine *zk, struct hf_zk_engine_own_ticket *own_ticket);

/* Our ticket that has a node at ${path}, or NULL; also NULL while it is
 * downgraded, because its old node goes as part of that. */
struct hf_zk_engine_own_ticket *
hf_zk_engine_own_ticket_at(const struct hf_zk_engine *zk, const char *path);

/* The node at ${path} is gone.  If it was a node of our ticket, the whole
 * ticket is gone and is freed. */
void hf_zk_engine_own_ticket_node_gone(struct hf_zk_engine *zk,
                                       const char *path);

/* Send the delete of all nodes of ${own_ticket} as ${call}. */
void hf_zk_engine_own_ticket_delete(
    struct hf_zk_engine *zk, const struct hf_zk_engine_own_ticket *own_ticket,
    struct hf_zk_call *call);

/* Move ${own_ticket} behind all others in the order of proofs, because it was
 * just checked. */
void hf_zk_engine_own_ticket_move_last(
    struct hf_zk_engine *zk, struct hf_zk_engine_own_ticket *own_ticket);

/* Initialise an empty table. */
void hf_zk_engine_own_tickets_init(struct hf_zk_engine_own_tickets *tickets);

/* Free all of them, because the session has ended. */
void hf_zk_engine_own_tickets_clear(struct hf_zk_engine *zk);

/* -------------------------------------------------------------- eviction -- */

/*
 * Who evicted a ticket, and why.
 *
 * The node of the ticket is gone when its owner receives the event, and the
 * event has no text.  So the text is written to the parent of the tickets in
 * the transaction that deletes the node, and the owner reads it there:
 * "holdfast evicted ID by TEXT", with the id of the ticket, because a later
 * eviction replaces it.
 *
 * No client gives the data of that node a meaning but kazoo's Semaphore, which
 * keeps its number of permits there, and programs may keep there what they
 * like.  So only data that are empty, or are such a text, are replaced.
 */

/* Room for the data. */
#define HF_ZK_EVICTION_BYTES                                                   \
    (sizeof("holdfast evicted  by ") + HF_TICKET_ID_TEXT_BYTES +               \
     HF_EVICTED_BY_BYTES)

/* Write the data of an eviction of ${id}. */
void hf_zk_engine_eviction_format(const struct hf_ticket_id *id,
                                  const char *evicted_by,
                                  char data[HF_ZK_EVICTION_BYTES]);

/* May these ${data} of the parent be replaced? */
bool hf_zk_engine_eviction_may_replace(struct hf_jute_piece data);

/* The node at ${path} is gone.  If it is of a ticket of ours that we do not
 * delete, read who evicted it, and log that as a warning.  The loss is reported
 * elsewhere, and does not wait for that.  To be called before the ticket is
 * freed. */
void hf_zk_engine_eviction_read(struct hf_zk_engine *zk, const char *path);

#endif

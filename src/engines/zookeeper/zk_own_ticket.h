/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets of this session, from the answer to their create until they are
 * gone.  A lease is gone as soon as one of its nodes is.
 *
 * The names of their nodes at the server and their czxid are remembered here,
 * so they do not depend on any list.  A ticket of ours can therefore be
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
    /* The list in which tickets take turns to be checked by proofs
     * (HF_REQUEST_PROVE): the ticket whose check is longest ago comes first. */
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
    struct hf_zk_engine_own_ticket *first; /* the ticket whose check is longest
                                              ago */
    /* Where the next ticket is linked; NULL: at .first. */
    struct hf_zk_engine_own_ticket **end;
};

/* Our ticket ${id}, or NULL. */
struct hf_zk_engine_own_ticket *
hf_zk_engine_own_ticket_find(const struct hf_zk_engine *zk,
                             const struct hf_ticket_id *id);

/* Remember that the child ${name}, which was parsed to ${node}, is ours, and so
 * are the ${weight} - 1 nodes with the following numbers.  NULL for lack of
 * memory, or if ${name} is not how we and the server would write it. */
struct hf_zk_engine_own_ticket *hf_zk_engine_own_ticket_add(
    struct hf_zk_engine *zk, struct hf_zk_engine_queue *queue,
    const struct hf_zk_engine_node *node, struct hf_jute_piece name,
    uint32_t weight, int64_t czxid);

/* Free ${own_ticket}, which is gone.  May free its queue. */
void hf_zk_engine_own_ticket_free(struct hf_zk_engine *zk,
                                  struct hf_zk_engine_own_ticket *own_ticket);

/* The path of the ${nth} node of ${own_ticket}; valid until the next path is
 * made, see hf_zk_engine_child_path(). */
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

/* Our ticket that has a node at ${path}, or NULL.  A ticket that is being
 * downgraded is not returned, because the downgrade itself deletes its old
 * node. */
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

/* Move ${own_ticket} behind all others in the list of tickets to check, because
 * it was just checked. */
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
 * When the owner of the ticket receives the watch event, the node is gone, and
 * the event has no text.  So the text is written to the parent of the tickets
 * in the transaction that deletes the node, and the owner reads it there:
 * "holdfast evicted ID by TEXT".  It contains the id of the ticket, because the
 * text of a later eviction replaces it.
 *
 * kazoo's Semaphore keeps its number of permits in the data of the parent, and
 * programs may keep other data there.  So the data are replaced only if they
 * are empty or are the text of an earlier eviction.
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

/* To be called when the node at ${path} is gone, before its ticket is freed.
 * If the ticket is ours and we are not deleting it, read who evicted it, and
 * log a warning with that.  The loss of the ticket is reported elsewhere and
 * does not wait for this read. */
void hf_zk_engine_eviction_read(struct hf_zk_engine *zk, const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The children of a queue as they were last listed, in order, and which of them
 * have gone since.
 *
 * A child that went is struck out and keeps its place, so that places stay
 * valid until _compact() closes the gaps.  It is known by its number, which is
 * what the list is in order of: finding it does not walk the list.
 *
 * Nothing here asks the server or knows which tickets are ours, beyond what the
 * children say: zk_own_ticket.c and queue_snapshot.c know that, and
 * cached_list.c when all this may be used in place of a new list.
 */
#ifndef HF_ENGINES_ZOOKEEPER_CHILDREN_H
#define HF_ENGINES_ZOOKEEPER_CHILDREN_H

#include "engines/zookeeper/zk_queue.h"

/* What a child is in order by; of a permit its czxid, if that is known, and
 * others are taken for older. */
uint64_t hf_zk_child_order(const struct hf_zk_child *child);

/* Have ${count} ${children}, whose names are in ${names}, in place of those
 * that were there.  Both are the queue's from here on; they are put in order,
 * and each name is left there once. */
void hf_zk_children_set(struct hf_zk_queue *queue, struct hf_zk_child *children,
                        size_t count, char *names);

/* Put them in order again, now that more is known of them; _compact() is to
 * follow. */
void hf_zk_children_sort(struct hf_zk_queue *queue);

/* Leave out those that have gone, so that those ahead of one can be counted. */
void hf_zk_children_compact(struct hf_zk_queue *queue);

/* The place of the child called ${id} with that number, or .count. */
size_t hf_zk_children_find(const struct hf_zk_queue *queue, int32_t sequence,
                           const struct hf_ticket_id *id);

/* How many of them have that id. */
size_t hf_zk_children_count_id(const struct hf_zk_queue *queue,
                               const struct hf_ticket_id *id);

/* The ticket is not what its nodes' names say: somebody else's, or no whole
 * ticket. */
void hf_zk_children_disown(struct hf_zk_queue *queue,
                           const struct hf_ticket_id *id);

/* The child at ${place} has gone. */
void hf_zk_children_mark_gone(struct hf_zk_queue *queue, size_t index);

/* The node at ${path} has gone, of the queue called ${name}. */
void hf_zk_children_node_gone(struct hf_zk *zk, const char *name,
                              const char *path);

#endif

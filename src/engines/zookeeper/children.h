/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The children of a queue as they were last listed, in order, and which of
 * them have gone since.
 *
 * A child that has gone is marked and keeps its index, so that indexes stay
 * valid until hf_zk_engine_children_compact() removes the marked ones.  A child
 * is found by its sequence number, which the array is ordered by, without a
 * walk.
 *
 * Nothing here sends a call or knows which tickets are of this session, except
 * by the field .ours.  list_children.c makes children of an answer of the
 * server, and knows when they may be used instead of a new list;
 * queue_snapshot.c makes tickets of them.
 */
#ifndef HF_ENGINES_ZOOKEEPER_CHILDREN_H
#define HF_ENGINES_ZOOKEEPER_CHILDREN_H

#include "engines/zookeeper/zk_queue.h"

/* The number that orders children.  For a permit or a participant it is the
 * czxid, or 0 if that is unknown, which sorts it first. */
uint64_t hf_zk_engine_child_order(const struct hf_zk_engine_child *child);

/* Replace the children of the queue by the ${count} ${children}, whose names
 * are in ${names}.  The queue takes ownership of both, sorts them, and drops
 * duplicate names. */
void hf_zk_engine_children_set(struct hf_zk_engine_queue *queue,
                               struct hf_zk_engine_child *children,
                               size_t count, char *names);

/* Sort the children again because more czxids are known, and remove those that
 * have gone.  Indexes change. */
void hf_zk_engine_children_sort(struct hf_zk_engine_queue *queue);

/* Remove the children that have gone.  Indexes change. */
void hf_zk_engine_children_compact(struct hf_zk_engine_queue *queue);

/* The index of the child with that number and id, or .count. */
size_t hf_zk_engine_children_find(const struct hf_zk_engine_queue *queue,
                                  int32_t sequence,
                                  const struct hf_ticket_id *id);

/* How many nodes the ticket at ${index} has.  For a lease, count the children
 * from ${index} on that have its id and consecutive numbers.  1 for any other
 * ticket; 0 if ${index} is .count. */
uint32_t hf_zk_engine_children_weight(const struct hf_zk_engine_queue *queue,
                                      size_t index);

/* How many children have that id. */
size_t hf_zk_engine_children_count_id(const struct hf_zk_engine_queue *queue,
                                      const struct hf_ticket_id *id);

/* Give the children with ${id} another id, because they are not the ticket
 * that their names say: another session made them, or some nodes of the ticket
 * are missing. */
void hf_zk_engine_children_change_id(struct hf_zk_engine_queue *queue,
                                     const struct hf_ticket_id *id);

/* The child at ${index} has gone: mark it. */
void hf_zk_engine_children_mark_gone(struct hf_zk_engine_queue *queue,
                                     size_t index);

/* The node at ${path}, a child of the queue ${name}, has gone.  Mark it as
 * gone.  If another node may have taken its place, end the use of the queue's
 * children as a cached list instead. */
void hf_zk_engine_children_node_gone(struct hf_zk_engine *zk, const char *name,
                                     const char *path);

#endif

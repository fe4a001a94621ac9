/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last list of a queue as tickets: an answer to getChildren is taken in,
 * with what is known of our own tickets; the core is shown all of it, or the
 * part that decides for one ticket.
 */
#ifndef HF_ENGINES_ZOOKEEPER_QUEUE_SNAPSHOT_H
#define HF_ENGINES_ZOOKEEPER_QUEUE_SNAPSHOT_H

#include "engines/zookeeper/zk_queue.h"

/* A string of no byte is as short as an element of a list gets. */
#define HF_ZK_CHILD_LEAST_BYTES 4

/* Take in the answer to a getChildren, whose ${error} is passed on: an empty
 * list for NoNode.  HF_ZK_MALFORMED if it makes no sense or there is no memory,
 * then nothing has changed. */
enum hf_zk_error hf_zk_queue_take_list(struct hf_zk *zk,
                                       struct hf_zk_queue *queue,
                                       enum hf_zk_error error,
                                       struct hf_jute_reader *body);

/* Put the children in order again, now that more is known of them. */
void hf_zk_queue_sort(const struct hf_zk *zk, struct hf_zk_queue *queue);

/* The place of the ticket in the last list, or .count.  One of ours is found by
 * its number, which does not walk the list. */
size_t hf_zk_queue_index(const struct hf_zk *zk,
                         const struct hf_zk_queue *queue,
                         const struct hf_ticket_id *id);

/* So many nodes the ticket has in the last list, one after the other in number;
 * 0: it is not there. */
uint32_t hf_zk_queue_weight(const struct hf_zk *zk,
                            const struct hf_zk_queue *queue,
                            const struct hf_ticket_id *id);

/* Write the data of a node as a payload: text without NUL, quoted if it is
 * none.  The bytes of it. */
size_t hf_zk_payload_copy(char payload[HF_PAYLOAD_BYTES],
                          struct hf_jute_piece data);

/* What the ticket at the head says of itself. */
void hf_zk_queue_set_head(struct hf_zk_queue *queue,
                          const struct hf_ticket_id *id,
                          struct hf_jute_piece payload);

/* Room for a snapshot of ${count} tickets in place of the last one; false for
 * lack of memory. */
bool hf_zk_snapshot_room(struct hf_zk *zk, size_t count);

/* The last list, valid until the next call of this.  False for lack of
 * memory. */
bool hf_zk_queue_snapshot(struct hf_zk *zk, const struct hf_zk_queue *queue,
                          struct hf_snapshot *snapshot);

/* The part of it that hf_admission_trim() would leave for ${mine} of ${kind},
 * put together without the rest; valid until the next call of this. */
void hf_zk_queue_partial_snapshot(struct hf_zk *zk,
                                  const struct hf_zk_queue *queue,
                                  const struct hf_ticket_id *mine,
                                  enum hf_ticket_kind kind,
                                  struct hf_snapshot *snapshot);

#endif

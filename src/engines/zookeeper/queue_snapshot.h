/* SPDX-License-Identifier: Apache-2.0 */
/* The children of a queue as tickets: where a ticket stands among them, and the
 * snapshot that the core gets, of all of them or of the part that decides for
 * one ticket. */
#ifndef HF_ENGINES_ZOOKEEPER_QUEUE_SNAPSHOT_H
#define HF_ENGINES_ZOOKEEPER_QUEUE_SNAPSHOT_H

#include "engines/zookeeper/zk_own_ticket.h"

/* The index of the ticket ${id} in the last list, or .count if it is not there.
 * A ticket of ours is found by its number, without a walk.  ${own_ticket} is
 * our ticket of that id, or NULL; hf_zk_engine_queue_index() looks for it. */
size_t
hf_zk_engine_queue_index_of(const struct hf_zk_engine_queue *queue,
                            const struct hf_zk_engine_own_ticket *own_ticket,
                            const struct hf_ticket_id *id);
size_t hf_zk_engine_queue_index(const struct hf_zk_engine *zk,
                                const struct hf_zk_engine_queue *queue,
                                const struct hf_ticket_id *id);

/* Write the data of a node as a payload: text without NUL, quoted if the data
 * are something else.  Returns its length. */
size_t hf_zk_engine_payload_copy(char payload[HF_PAYLOAD_BYTES],
                                 struct hf_jute_piece data);

/* Remember the payload of the ticket ${id}, which is at the head. */
void hf_zk_engine_queue_set_head(struct hf_zk_engine_queue *queue,
                                 const struct hf_ticket_id *id,
                                 struct hf_jute_piece payload);

/* Make room for a snapshot of ${count} tickets; it overwrites the last one.
 * False for lack of memory. */
bool hf_zk_engine_snapshot_room(struct hf_zk_engine *zk, size_t count);

/* Make a snapshot of the last list, valid until the next call.  False for lack
 * of memory. */
bool hf_zk_engine_queue_snapshot(struct hf_zk_engine *zk,
                                 const struct hf_zk_engine_queue *queue,
                                 struct hf_snapshot *snapshot);

/* As hf_zk_engine_queue_snapshot(), for a double barrier: the participants, and
 * the barrier node of the current generation, whose czxid is ${ready}; not
 * positive: there is none. */
bool hf_zk_engine_participants_snapshot(struct hf_zk_engine *zk,
                                        const struct hf_zk_engine_queue *queue,
                                        int64_t ready,
                                        struct hf_snapshot *snapshot);

/* Make a snapshot of only those tickets that hf_admission_trim() would leave
 * for the ticket ${mine} of ${kind}.  ${index} is the index of that ticket, or
 * .count if it is not in the list.  The snapshot is valid until the next
 * call. */
void hf_zk_engine_queue_partial_snapshot(struct hf_zk_engine *zk,
                                         const struct hf_zk_engine_queue *queue,
                                         size_t index,
                                         const struct hf_ticket_id *mine,
                                         enum hf_ticket_kind kind,
                                         struct hf_snapshot *snapshot);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_LIST: the queue as it is now.  HF_REQUEST_ENQUEUE and
 * HF_REQUEST_WATCH_QUEUE end here too, once they have the list.
 *
 * Names show the order and the ids, but not everything.  They show neither the
 * token of a ticket that is found again after its create got no answer, nor
 * whether this session owns it.  They do not show which of two nodes with the
 * same number came first, nor the payload of the head, which is shown to those
 * who wait.  What is needed of these is asked for, in one write. */
#ifndef HF_ENGINES_ZOOKEEPER_ANSWER_LIST_H
#define HF_ENGINES_ZOOKEEPER_ANSWER_LIST_H

#include "engines/zookeeper/zk_request.h"

/* The queue has been listed: ask for what the list does not show, then answer
 * the request.  ${own_ticket} is its ticket if that is ours, and ${index} where
 * the list has it, or .count of the queue; hf_zk_engine_find_and_answer() looks
 * for both. */
void hf_zk_engine_answer_list(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req,
                              struct hf_zk_engine_own_ticket *own_ticket,
                              size_t index);
void hf_zk_engine_find_and_answer(struct hf_zk_engine *zk,
                                  struct hf_zk_engine_request *req);

#endif

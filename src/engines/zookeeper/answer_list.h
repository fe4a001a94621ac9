/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_LIST: the queue as it is now.  HF_REQUEST_ENQUEUE and
 * HF_REQUEST_WATCH_QUEUE end here too, once they have the list.
 *
 * Names show the order and the ids, but not everything.  They show neither the
 * token of a ticket that is found again after its create got no answer, nor
 * whether this session owns it.  They do not show which of two nodes with the
 * same number came first, nor the payload of the first ticket, which shows
 * waiting clients who holds the lock.  Calls that are sent together ask for
 * what the answer needs of these. */
#ifndef HF_ENGINES_ZOOKEEPER_ANSWER_LIST_H
#define HF_ENGINES_ZOOKEEPER_ANSWER_LIST_H

#include "engines/zookeeper/zk_request.h"

/* To be called when the queue has been listed: ask for what the list does not
 * show, then answer the request.  ${own_ticket} is the ticket of the request if
 * it is one of ours, or NULL.  ${index} is the index of that ticket in the
 * list, or .count of the queue.  hf_zk_engine_find_and_answer() finds both
 * itself. */
void hf_zk_engine_answer_list(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req,
                              struct hf_zk_engine_own_ticket *own_ticket,
                              size_t index);
void hf_zk_engine_find_and_answer(struct hf_zk_engine *zk,
                                  struct hf_zk_engine_request *req);

#endif

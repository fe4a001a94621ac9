/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LIST: the queue as it is now.  ENQUEUE and WATCH_QUEUE end here too, when
 * they have the list.
 *
 * Names tell the order and whose ticket is whose, but not everything: the token
 * of a ticket that we find again after its create got no answer, and whether it
 * is of this session at all; who came first where two have one number; and what
 * the ticket at the head says of itself, for those who wait.  These are asked
 * for, in one write, when they are needed.
 */
#ifndef HF_ENGINES_ZOOKEEPER_LIST_QUEUE_H
#define HF_ENGINES_ZOOKEEPER_LIST_QUEUE_H

#include "engines/zookeeper/zk_request.h"

/* The queue has been listed: find out what the list does not tell, and answer
 * as the request has it. */
void hf_zk_list_answer(struct hf_zk *zk, struct hf_zk_request *req);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the requests about one queue.
 *
 * etcd carries out the calls of one connection in any order: of 64 transactions
 * that are written together, one in thirty is committed before the one in front
 * of it.  Some requests must take effect in the order in which they were made.
 * They are begun one at a time, each when the one before it was answered:
 * - enqueues;
 * - lists for a ticket of ours whose enqueue was not answered, and its removal;
 * - requests that set, clear and watch a flag.  These may join the request in
 *   front of them and share its call (flags.c).
 * All of them also wait until the session's epoch is known (etcd/epoch.h),
 * because an enqueue compares the epoch.
 *
 * Any other removal of a ticket of ours keeps no order with them.  It waits for
 * hf_etcd_engine_flush(): an enqueue that begins then takes one removal into
 * its transaction.  So a cohort, the waiters of one client that share a
 * ticket, replaces its ticket by one commit.  Two enqueues never share a
 * transaction, because their keys would have the same create revision.
 */
#ifndef HF_ENGINES_ETCD_QUEUE_ORDER_H
#define HF_ENGINES_ETCD_QUEUE_ORDER_H

#include "engines/etcd/etcd_request.h"

/* Put ${req} into the order of its queue.  ${begin} is called when its turn
 * comes. */
void hf_etcd_engine_order(struct hf_etcd_engine_request *req,
                          hf_etcd_engine_begin *begin);

/* Let ${req}, a removal, wait for the next flush.  ${begin} is called then,
 * unless an enqueue takes the removal. */
void hf_etcd_engine_order_removal(struct hf_etcd_engine_request *req,
                                  hf_etcd_engine_begin *begin);

/* Take a removal that waits in ${queue} out of the order; NULL if none waits.
 * The caller must begin it, or carry it out. */
struct hf_etcd_engine_request *
hf_etcd_engine_take_removal(struct hf_etcd_engine_queue *queue);

/* Return the request behind ${req} in the order, or NULL. */
struct hf_etcd_engine_request *
hf_etcd_engine_order_behind(const struct hf_etcd_engine_request *req);

/* Let ${req}, which waits, join the request whose turn it is: the call of that
 * request answers both.  If the turn ends before ${req} is answered, ${req}
 * waits again. */
void hf_etcd_engine_order_join(struct hf_etcd_engine_request *req);

/* Let ${req}, which has joined another request, wait again instead. */
void hf_etcd_engine_order_part(struct hf_etcd_engine_request *req);

/* Return the first request of ${queue} that has joined the one whose turn it
 * is, or NULL. */
struct hf_etcd_engine_request *
hf_etcd_engine_order_joined(const struct hf_etcd_engine_queue *queue);

/* Take ${req} out of the order, so that the next request may begin.  Does
 * nothing if ${req} is in no order. */
void hf_etcd_engine_order_end(struct hf_etcd_engine_request *req);

/* Let all requests begin that wait for the epoch: it is known now, or there is
 * no connection and they fail. */
void hf_etcd_engine_unblock(struct hf_etcd_engine *engine);

#endif

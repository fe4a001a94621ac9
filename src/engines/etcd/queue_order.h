/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of requests about one queue.
 *
 * etcd carries out the calls of one connection in any order: of 64 transactions
 * that are written together, one in thirty is committed before the one in front
 * of it.  So requests that take effect in the order in which they were made are
 * begun one at a time, each when the one before it was answered: enqueues;
 * lists for a ticket of ours whose enqueue was not answered, and its removal;
 * and what sets, clears and watches a flag.  The last may join the one in front
 * of them, and share its call (flags.c).  All of them also wait for the
 * session's epoch (etcd/epoch.h), because an enqueue is of one.
 *
 * Any other removal of a ticket of ours keeps no order with them, but waits for
 * hf_etcd_engine_flush(): an enqueue that begins then takes one into its own
 * transaction.  So a cohort replaces its ticket by one commit.  Two enqueues
 * never share a transaction: their keys would have one create revision.
 */
#ifndef HF_ENGINES_ETCD_QUEUE_ORDER_H
#define HF_ENGINES_ETCD_QUEUE_ORDER_H

#include "engines/etcd/etcd_request.h"

/* Have ${begin} called for ${req} when it is its turn in its queue. */
void hf_etcd_engine_order(struct hf_etcd_engine_request *req,
                          hf_etcd_engine_begin *begin);

/* Have ${begin} called for ${req}, a removal, at the next flush, unless an
 * enqueue takes it. */
void hf_etcd_engine_order_removal(struct hf_etcd_engine_request *req,
                                  hf_etcd_engine_begin *begin);

/* Take a removal that waits in ${queue} out of the order; NULL: none waits.
 * The caller begins it, or does its work. */
struct hf_etcd_engine_request *
hf_etcd_engine_take_removal(struct hf_etcd_engine_queue *queue);

/* The request behind ${req} in the order, or NULL. */
struct hf_etcd_engine_request *
hf_etcd_engine_order_behind(const struct hf_etcd_engine_request *req);

/* ${req}, which waits, joins the request whose turn it is; the call of that
 * answers both.  If the turn is over before, ${req} waits again. */
void hf_etcd_engine_order_join(struct hf_etcd_engine_request *req);

/* ${req} has joined one, and waits again instead. */
void hf_etcd_engine_order_part(struct hf_etcd_engine_request *req);

/* The first request of ${queue} that has joined the one whose turn it is, or
 * NULL. */
struct hf_etcd_engine_request *
hf_etcd_engine_order_joined(const struct hf_etcd_engine_queue *queue);

/* Take ${req} out of the order, so that the next one may begin.  Does nothing
 * if ${req} is in no order. */
void hf_etcd_engine_order_end(struct hf_etcd_engine_request *req);

/* All requests that wait for the epoch may begin: it is known, or there is no
 * connection and they fail. */
void hf_etcd_engine_unblock(struct hf_etcd_engine *engine);

#endif

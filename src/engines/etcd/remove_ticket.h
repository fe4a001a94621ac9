/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_REMOVE.
 *
 * A key is removed by its name and the revision that created it.  Names are
 * used again, so a removal by name alone could take a later ticket.
 *
 * A ticket of ours is known by both.  If its enqueue got no answer, its key is
 * read first.  Any other ticket is looked for in its queue.  When somebody says
 * by whom it is evicted, that is put into its value first.  The owner's watch
 * shows the two in this order, so it learns the reason together with the loss.
 * The value of an election's ticket belongs to its candidate, who finds the
 * reason in another key (eviction.h).  Tickets of other programs keep their
 * values, so these learn no reason.
 */
#ifndef HF_ENGINES_ETCD_REMOVE_TICKET_H
#define HF_ENGINES_ETCD_REMOVE_TICKET_H

#include "engines/etcd/etcd_request.h"

/* A removal that waits in ${queue}, of a ticket of ours that is there, for the
 * transaction of an enqueue; NULL: none.  The caller makes one of the calls
 * below with it, or hf_etcd_engine_request_fail_call(). */
struct hf_etcd_engine_request *
hf_etcd_engine_removal_to_join(struct hf_etcd_engine_queue *queue);

/* Append the removal to a transaction: a comparison, and the deletion. */
void hf_etcd_engine_removal_join(const struct hf_etcd_engine_request *req,
                                 struct hf_etcd_buffer *buffer);

/* The transaction has succeeded: answer. */
void hf_etcd_engine_removal_done(struct hf_etcd_engine_request *req);

/* Carry it out alone. */
void hf_etcd_engine_remove_own(struct hf_etcd_engine_request *req);

#endif

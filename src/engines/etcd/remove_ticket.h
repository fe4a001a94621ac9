/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_REMOVE.
 *
 * A key is removed by its name and its create revision.  Names are used again,
 * so a removal by name alone could remove a later ticket.
 *
 * Of a ticket of ours both are known.  If its enqueue got no answer, its key is
 * read first.  Any other ticket is searched for in its queue.  If the request
 * says by whom the ticket is evicted, that is written into the ticket's value
 * before the ticket is deleted.  The owner's watch shows the two events in this
 * order, so the owner learns the reason together with the loss.  The value of
 * an election's ticket belongs to its candidate, so the reason is written into
 * another key (eviction.h).  The values of other programs' tickets are not
 * changed, so these programs get no reason.
 */
#ifndef HF_ENGINES_ETCD_REMOVE_TICKET_H
#define HF_ENGINES_ETCD_REMOVE_TICKET_H

#include "engines/etcd/etcd_request.h"

/* Return a removal in ${queue} that can share the transaction of an enqueue;
 * NULL if there is none.  It is the removal of a ticket of ours that is there.
 * The caller must then call hf_etcd_engine_removal_join(), or
 * hf_etcd_engine_remove_own(), or fail the removal. */
struct hf_etcd_engine_request *
hf_etcd_engine_removal_to_join(struct hf_etcd_engine_queue *queue);

/* Append the removal to a transaction: a comparison, and the deletion. */
void hf_etcd_engine_removal_join(const struct hf_etcd_engine_request *req,
                                 struct hf_etcd_buffer *buffer);

/* The transaction of hf_etcd_engine_removal_join() has succeeded: answer
 * ${req}. */
void hf_etcd_engine_removal_done(struct hf_etcd_engine_request *req);

/* Carry out ${req}, the removal of a ticket of ours, in a transaction of its
 * own. */
void hf_etcd_engine_remove_own(struct hf_etcd_engine_request *req);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a queue: ranges of its keys, page after page, until a request knows
 * what it needs.
 *
 *     all      all keys, from the oldest on
 *     nearest  of a lock: the ticket itself, the nearest three ahead that may
 *              block it, and the first of all
 *     first    the first ticket alone
 *
 * The newest key below a queue is a ticket that was just put.  So the range in
 * descending order of creation, of four keys, is that ticket and those three,
 * unless other things are between them; then older keys are read.  A queue of
 * ten thousand tickets costs no more bytes than one of five.
 *
 * The first pages come with the transaction that the request begins with, or
 * from hf_etcd_engine_read_now().  The others are read at the revision of the
 * first: a server that has not come so far refuses that, so no page is older
 * than the first one, and nobody ahead is missing.
 */
#ifndef HF_ENGINES_ETCD_QUEUE_READING_H
#define HF_ENGINES_ETCD_QUEUE_READING_H

#include "core/admission.h"
#include "engines/etcd/etcd_request.h"

/* Pages of the first transaction. */
#define HF_ETCD_NEAREST_PAGE (HF_ADMISSION_NEAREST + 1)
#define HF_ETCD_READER_PAGE 64 /* a reader looks for writers only */
#define HF_ETCD_LIST_PAGE 1000 /* of about 100 bytes and a text each */

/* With how many keys a queue is refused.  What is read of one takes about 200
 * bytes and a text. */
#define HF_ETCD_KEYS_MAX 131072

/* Begin to read for ${req}: append the ranges of the first pages to the
 * operations of a transaction that succeeds.  All: what has ${role}.  Nearest:
 * what concerns our ticket ${mine} of ${kind}, up to its own key, which was
 * created at ${created}; 0: this transaction puts it, so it is the last one. */
void hf_etcd_engine_read_all(struct hf_etcd_engine_request *req,
                             enum hf_etcd_engine_role role,
                             struct hf_etcd_buffer *buffer);
void hf_etcd_engine_read_nearest(struct hf_etcd_engine_request *req,
                                 const struct hf_ticket_id *mine,
                                 enum hf_ticket_kind kind, int64_t created,
                                 struct hf_etcd_buffer *buffer);

/* The same for the first ticket alone. */
void hf_etcd_engine_read_first(struct hf_etcd_engine_request *req,
                               struct hf_etcd_buffer *buffer);

/* Read the whole queue without a transaction: what has ${role}; ${then}
 * follows. */
void hf_etcd_engine_read_now(struct hf_etcd_engine_request *req,
                             enum hf_etcd_engine_role role,
                             hf_etcd_engine_begin *then);

/* Take the first pages out of ${responses}, where they are the next ones; the
 * header of the answer has ${revision}.  False if they make no sense. */
bool hf_etcd_engine_take_pages(struct hf_etcd_engine_request *req,
                               struct hf_etcd_list *responses,
                               int64_t revision);

/* Read the other pages, then call ${then}.  If that fails, the request does. */
void hf_etcd_engine_read_on(struct hf_etcd_engine_request *req,
                            hf_etcd_engine_begin *then);

/* How many tickets ahead were not read, at most.  ${most}: no more than this
 * are ahead in all; SIZE_MAX: that is not known. */
size_t hf_etcd_engine_hidden(const struct hf_etcd_engine_request *req,
                             size_t most);

#endif

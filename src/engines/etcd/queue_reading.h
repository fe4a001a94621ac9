/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a queue: ranges of its keys, page after page, until a request knows
 * what it needs.
 *
 *     all      all keys, from the oldest on
 *     nearest  of a lock: the ticket itself, the nearest three ahead that may
 *              block it, and the first of all
 *     first    only the first ticket
 *
 * A ticket that was just put is the newest key of its queue.  So the four
 * newest keys, a range in descending order of creation, are that ticket and the
 * three in front of it.  If other keys are between them, older keys are read,
 * too.  A queue of ten thousand tickets costs no more bytes than one of five.
 *
 * The first pages come with the transaction that the request begins with, or
 * from hf_etcd_engine_read_now().  The others are read at the revision of the
 * first.  A server that has not come to that revision refuses the read.  So no
 * page is older than the first one, and no ticket ahead is missing.
 */
#ifndef HF_ENGINES_ETCD_QUEUE_READING_H
#define HF_ENGINES_ETCD_QUEUE_READING_H

#include "core/admission.h"
#include "engines/etcd/etcd_request.h"

/* Keys of the first page when reading the nearest. */
#define HF_ETCD_NEAREST_PAGE (HF_ADMISSION_NEAREST + 1)
#define HF_ETCD_READER_PAGE 64 /* the same for a reader */
#define HF_ETCD_LIST_PAGE 1000 /* other pages; a key has about 100 bytes */

/* A queue with more keys is refused.  A key that was read takes about 200 bytes
 * and a text. */
#define HF_ETCD_KEYS_MAX 131072

/* Begin to read for ${req}: append the ranges of the first pages to the
 * transaction in ${buffer}.
 *
 * All: the keys with ${role}.
 *
 * Nearest: the keys that concern our ticket ${mine} of ${kind}, up to its own
 * key, which was created at ${created}; 0: this transaction puts it, so it is
 * the newest key. */
void hf_etcd_engine_read_all(struct hf_etcd_engine_request *req,
                             enum hf_etcd_engine_role role,
                             struct hf_etcd_buffer *buffer);
void hf_etcd_engine_read_nearest(struct hf_etcd_engine_request *req,
                                 const struct hf_ticket_id *mine,
                                 enum hf_ticket_kind kind, int64_t created,
                                 struct hf_etcd_buffer *buffer);

/* The same for only the first ticket. */
void hf_etcd_engine_read_first(struct hf_etcd_engine_request *req,
                               struct hf_etcd_buffer *buffer);

/* Read all keys with ${role}, without a transaction.  Then call ${then}. */
void hf_etcd_engine_read_now(struct hf_etcd_engine_request *req,
                             enum hf_etcd_engine_role role,
                             hf_etcd_engine_begin *then);

/* Take the first pages from ${responses}, whose next responses they must be.
 * ${revision} is that of the answer's header.  Returns false if they make no
 * sense. */
bool hf_etcd_engine_take_pages(struct hf_etcd_engine_request *req,
                               struct hf_etcd_list *responses,
                               int64_t revision);

/* Read the other pages, then call ${then}.  If that fails, the request fails.
 */
void hf_etcd_engine_read_on(struct hf_etcd_engine_request *req,
                            hf_etcd_engine_begin *then);

/* Return how many tickets ahead were not read, at most.  ${most} is the
 * greatest possible number of tickets ahead; SIZE_MAX: not known. */
size_t hf_etcd_engine_hidden(const struct hf_etcd_engine_request *req,
                             size_t most);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a queue from its directory without the directory's lock, and answers
 * lists. */
#ifndef HF_ENGINES_FILE_QUEUE_H
#define HF_ENGINES_FILE_QUEUE_H

#include "core/engine.h"
#include "engines/file/listing.h"

struct hf_file_ticket;

/* Returns which tickets ${request} is about: a queue, or participants. */
enum hf_file_listing_scope
hf_file_request_scope(const struct hf_request *request);

/* Read the tickets of ${queue} in ${scope}; without a directory there are none.
 * Also reads the payloads of the first ${payloads} tickets and, for
 * participants, READY; but neither with HF_LISTING_ALL.
 *   Ownership  ${listing} has one reference, which the caller owns.
 *   Fails      as hf_file_listing_read(); HF_EDENIED for a directory that
 *              hf_file_root_dir_check_lock_dir() refuses. */
hf_status hf_file_read_queue(struct hf_engine *engine, const char *queue,
                             enum hf_file_listing_scope scope, size_t payloads,
                             struct hf_file_listing **listing,
                             struct hf_error *error);

/* Find the ticket ${id} of ${queue}, first in .listing of the engine, then in
 * the directory.  After HF_OK, ${found} says whether it was found, and
 * ${ticket} is the ticket without its payload. */
hf_status hf_file_find_ticket(struct hf_engine *engine, const char *queue,
                              const struct hf_ticket_id *id,
                              struct hf_ticket *ticket, bool *found,
                              struct hf_error *error);

/* Carry out HF_REQUEST_LIST. */
void hf_file_list(struct hf_engine *engine, struct hf_request *request);

/* Answer ${request} with the queue in ${listing}, in an event of ${kind}.  A
 * reference to ${listing} is kept, because usually a watch of a ticket in it
 * follows.  ${own_ticket} is the ticket of ${request}; NULL: it is not of this
 * session. */
void hf_file_answer_queue(struct hf_engine *engine, struct hf_request *request,
                          struct hf_file_ticket *own_ticket,
                          enum hf_event_kind kind,
                          struct hf_file_listing *listing);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A queue, read from its directory without the directory's lock; and lists. */
#ifndef HF_ENGINES_FILE_QUEUE_H
#define HF_ENGINES_FILE_QUEUE_H

#include "core/engine.h"
#include "engines/file/listing.h"

struct hf_file_ticket;

/* Which tickets ${request} is about: those of a queue, or participants. */
enum hf_file_listing_scope
hf_file_request_scope(const struct hf_request *request);

/* Read the tickets of ${queue} that are in ${scope}; none if there is no
 * directory.  The payloads of the first ${payloads} are read as well and, of
 * participants, READY; but neither with HF_LISTING_ALL.
 *   Ownership  ${listing} has one reference, which is the caller's.
 *   Fails      what hf_file_listing_read() does; HF_EDENIED for a directory
 *              that hf_file_root_dir_check_lock_dir() refuses. */
hf_status hf_file_read_queue(struct hf_engine *engine, const char *queue,
                             enum hf_file_listing_scope scope, size_t payloads,
                             struct hf_file_listing **listing,
                             struct hf_error *error);

/* Find the ticket ${id} of ${queue}, in .listing of the engine, else in the
 * directory.  HF_OK with ${found}; and with ${ticket} if it was found, without
 * its payload. */
hf_status hf_file_find_ticket(struct hf_engine *engine, const char *queue,
                              const struct hf_ticket_id *id,
                              struct hf_ticket *ticket, bool *found,
                              struct hf_error *error);

/* HF_REQUEST_LIST. */
void hf_file_list(struct hf_engine *engine, struct hf_request *request);

/* Answer with the queue, in an event of ${kind}, and keep a reference to
 * ${listing}, because a watch of a ticket in it follows.  ${own_ticket} is that
 * of ${request}; NULL: it is not of this session. */
void hf_file_answer_queue(struct hf_engine *engine, struct hf_request *request,
                          struct hf_file_ticket *own_ticket,
                          enum hf_event_kind kind,
                          struct hf_file_listing *listing);

#endif

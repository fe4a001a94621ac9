/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ticket right ahead of an own ticket.  By it the engine can know, without
 * reading the directory, that its own ticket is the first (predecessor.c).
 */
#ifndef HF_ENGINES_FILE_PREDECESSOR_H
#define HF_ENGINES_FILE_PREDECESSOR_H

#include "core/engine.h"
#include "engines/file/listing.h"

struct hf_file_ticket;

/* Call this before ${listing} answers a request for ${own_ticket}.  If that
 * ticket waits in a queue, notes its predecessor and its blocker, and leaves in
 * ${listing} only the tickets that decide whether it is admitted. */
void hf_file_predecessor_note(struct hf_engine *engine,
                              struct hf_file_ticket *own_ticket,
                              struct hf_file_listing *listing);

/* Call this when the ticket ${gone} of another session is no longer in its
 * queue, but after hf_file_own_watch_blocker_gone(), which checks the tickets
 * behind it. */
void hf_file_predecessor_gone(struct hf_engine *engine,
                              const struct hf_ticket_id *gone);

/* Returns whether ${own_ticket} is known to be the first in its queue.  If it
 * returns false, it may still be the first, and the directory must be read. */
bool hf_file_predecessor_own_is_first(struct hf_engine *engine,
                                      struct hf_file_ticket *own_ticket);

#endif

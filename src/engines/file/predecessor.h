/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ticket right ahead of an own ticket.  From it the engine knows without
 * reading the directory that its own ticket is first: see predecessor.c.
 */
#ifndef HF_ENGINES_FILE_PREDECESSOR_H
#define HF_ENGINES_FILE_PREDECESSOR_H

#include "core/engine.h"
#include "engines/file/listing.h"

struct hf_file_ticket;

/* ${listing} is to answer a request for ${own_ticket}.  If that waits in a
 * queue, note its predecessor and its blocker, and leave in ${listing} what
 * decides on it. */
void hf_file_predecessor_note(struct hf_engine *engine,
                              struct hf_file_ticket *own_ticket,
                              struct hf_file_listing *listing);

/* The ticket ${gone} of another session is in its queue no more.  To be called
 * after hf_file_own_watch_blocker_gone(), which checks the tickets behind it.
 */
void hf_file_predecessor_gone(struct hf_engine *engine,
                              const struct hf_ticket_id *gone);

/* Is ${own_ticket} known to be first in its queue?  False also where only the
 * directory shows it. */
bool hf_file_predecessor_own_is_first(struct hf_engine *engine,
                                      struct hf_file_ticket *own_ticket);

#endif

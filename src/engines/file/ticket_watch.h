/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_WATCH of a ticket of this or of another session, and the removal
 * of a ticket of this session.
 *
 * Both are here because each leads to the other: a check may find a ticket
 * gone, which removes it; and after a removal the tickets behind it are
 * checked.
 */
#ifndef HF_ENGINES_FILE_TICKET_WATCH_H
#define HF_ENGINES_FILE_TICKET_WATCH_H

#include "engines/file/own_tickets.h"

/* Carry out HF_REQUEST_WATCH; and end that watch at any time. */
void hf_file_watch_ticket(struct hf_engine *engine, struct hf_request *request);
void hf_file_ticket_watch_forget(struct hf_request *request);

/* React to .on_change of struct hf_file_inotify: check the own tickets whose
 * FIFO or directory is ${wd}, or all, and answer their watches. */
void hf_file_own_watch_on_change(struct hf_engine *engine, int wd, bool all);

/* Arm the watches in .to_arm of the engine's inotify, unless they were deferred
 * again.  Then check their tickets, because a ticket may have gone before it
 * was watched. */
void hf_file_own_watches_arm(struct hf_engine *engine);

/* Call this when the ticket ${gone} has ended.  Checks the own tickets that it
 * blocked, and has their watches armed soon. */
void hf_file_own_watch_blocker_gone(struct hf_engine *engine,
                                    const struct hf_ticket_id *gone);

/* Call this when somebody has evicted the ticket ${id}.  If it is a ticket of
 * this session with a watch, answers its watches and gives it up, as if inotify
 * had reported that.  If the owner does not watch it yet, the ticket stays
 * until it is watched. */
void hf_file_own_watch_evicted(struct hf_engine *engine,
                               const struct hf_ticket_id *id);

/* Remove ${own_ticket} from its queue, answer its watches with HF_EVENT_GONE,
 * and free it.  Returns whether it was still in the queue. */
bool hf_file_remove_own(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket);

#endif

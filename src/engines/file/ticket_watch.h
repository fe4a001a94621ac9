/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_WATCH of a ticket of this session or of another, and the removal
 * of a ticket of this session.
 *
 * The watch and the removal of an own ticket are one part, because each leads
 * to the other: a check may find a ticket gone, which removes it, and a ticket
 * that is removed lets the tickets behind it move up, which checks them.
 */
#ifndef HF_ENGINES_FILE_TICKET_WATCH_H
#define HF_ENGINES_FILE_TICKET_WATCH_H

#include "engines/file/own_tickets.h"

/* HF_REQUEST_WATCH; and its UNWATCH, at any time. */
void hf_file_watch_ticket(struct hf_engine *engine, struct hf_request *request);
void hf_file_ticket_watch_forget(struct hf_request *request);

/* See .on_change of struct hf_file_inotify: check the tickets whose FIFO or
 * directory is ${wd}, or all, and answer their watches. */
void hf_file_own_watch_on_change(struct hf_engine *engine, int wd, bool all);

/* Arm the watches in .to_arm of the engine's inotify, unless they are deferred
 * again by now.  The tickets are checked afterwards, because one may have gone
 * before it was watched. */
void hf_file_own_watches_arm(struct hf_engine *engine);

/* The ticket ${gone} has ended.  Check the tickets that it was in the way of,
 * and have their watches armed soon. */
void hf_file_own_watch_blocker_gone(struct hf_engine *engine,
                                    const struct hf_ticket_id *gone);

/* Somebody has evicted the ticket ${id}.  If it is of this session and is
 * watched, answer its watches and give it up, as if inotify had reported that.
 * One that its owner does not watch yet stays until it is watched. */
void hf_file_own_watch_evicted(struct hf_engine *engine,
                               const struct hf_ticket_id *id);

/* Take ${own_ticket} out of its queue, answer its watches HF_EVENT_GONE, and
 * free it.  True if it was still in the queue. */
bool hf_file_remove_own(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket);

#endif

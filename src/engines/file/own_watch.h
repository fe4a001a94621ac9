/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of tickets of this session, and the removal of such a ticket.
 *
 * The two are one part, because each leads to the other: a check may find a
 * ticket gone, which removes it, and a ticket that is removed lets the tickets
 * behind it move up, which checks them.
 */
#ifndef HF_ENGINES_FILE_OWN_WATCH_H
#define HF_ENGINES_FILE_OWN_WATCH_H

#include "engines/file/own_tickets.h"

/* HF_REQUEST_WATCH of ${ticket}. */
void hf_file_watch_own(struct hf_engine *engine, struct hf_request *request,
                       struct hf_file_ticket *ticket);

/* See .on_change of struct hf_file_inotify: check the tickets whose FIFO or
 * directory is ${wd}, or all, and answer their watches. */
void hf_file_own_watch_on_change(struct hf_engine *engine, int wd, bool all);

/* The ticket ${gone} has ended.  Check the tickets that it was in the way of,
 * and have their watches armed soon. */
void hf_file_own_watch_blocker_gone(struct hf_engine *engine,
                                    const struct hf_ticket_id *gone);

/* The core has forgotten the watch of another's ticket in ${dir_name}.  Have
 * the watches armed soon that were deferred on account of it. */
void hf_file_own_watch_other_forgotten(struct hf_engine *engine,
                                       const char *dir_name);

/* Take ${own_ticket} out of its queue, answer its watches HF_EVENT_GONE, and
 * free it.  True if it was still in the queue. */
bool hf_file_remove_own(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket);

#endif

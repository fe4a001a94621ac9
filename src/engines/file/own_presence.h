/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a ticket of this session still in its queue?
 *
 * The path is checked and not the open FIFO, because somebody may have removed
 * the ticket, or moved its directory away with the ticket in it.
 */
#ifndef HF_ENGINES_FILE_OWN_PRESENCE_H
#define HF_ENGINES_FILE_OWN_PRESENCE_H

#include "core/evicted_by.h"
#include "engines/file/own_tickets.h"

enum hf_file_presence {
    HF_PRESENT,          /* its FIFO is at its path */
    HF_GONE,             /* it is not, for certain */
    HF_PRESENCE_UNKNOWN, /* the path cannot be examined just now */
};

/* Check the path of ${ticket}.  Sets its .present, and with HF_PRESENT its
 * .last_mtime. */
enum hf_file_presence hf_file_ticket_presence(const struct hf_engine *engine,
                                              struct hf_file_ticket *ticket);

/* The same; HF_PRESENCE_UNKNOWN counts as present, because a ticket is given up
 * only when it is known to be gone. */
bool hf_file_ticket_is_present(const struct hf_engine *engine,
                               struct hf_file_ticket *ticket);

/* A session that evicts a ticket writes this before its removal, and then who
 * it is and why, in place of the payload. */
#define HF_FILE_EVICTED_BY "evicted by "

/* ${ticket} is gone, and its payload was not removed yet: set ${why} to what an
 * evicting session has left there for HF_EVENT_GONE, or to "". */
void hf_file_ticket_read_why(const struct hf_engine *engine,
                             const struct hf_file_ticket *ticket,
                             char why[HF_EVICTED_WHY_BYTES]);

/* Answer HF_EVENT_GONE to the watch of a ticket of this session, with ${why},
 * or with a text if all locks have been deleted or moved away. */
void hf_file_answer_own_gone(struct hf_engine *engine,
                             struct hf_request *request, const char *why);

#endif

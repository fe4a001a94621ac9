/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a ticket of this session still in its queue?
 *
 * The path is checked and not the open FIFO, because somebody may have removed
 * the ticket, or moved its directory away with the ticket in it.
 */
#ifndef HF_ENGINES_FILE_OWN_PRESENCE_H
#define HF_ENGINES_FILE_OWN_PRESENCE_H

#include "engines/file/own_tickets.h"

enum hf_presence {
    HF_PRESENT,          /* its FIFO is at its path */
    HF_GONE,             /* it is not, for certain */
    HF_PRESENCE_UNKNOWN, /* the path cannot be examined just now */
};

/* Check the path of ${ticket}.  Sets its .present, and with HF_PRESENT its
 * .last_mtime. */
enum hf_presence hf_file_ticket_presence(const struct hf_engine *engine,
                                         struct hf_file_ticket *ticket);

/* The same; HF_PRESENCE_UNKNOWN counts as present, because a ticket is given up
 * only when it is known to be gone. */
bool hf_file_ticket_is_present(const struct hf_engine *engine,
                               struct hf_file_ticket *ticket);

/* Answer HF_EVENT_GONE to the watch of a ticket of this session, with a text if
 * all locks have been deleted or moved away. */
void hf_engine_answer_own_gone(struct hf_engine *engine,
                               struct hf_request *request);

#endif

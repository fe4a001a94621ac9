/* SPDX-License-Identifier: Apache-2.0 */
/* A queue as it stood at one moment, in memory of the user's. */
#ifndef HF_HOST_TICKET_LIST_H
#define HF_HOST_TICKET_LIST_H

#include "core/ticket.h"
#include "host/lock.h"

/* Put those of ${queue}, which is one of ${lock}'s, that ${which} says, out of
 * the answer to a whole LIST, before ${tickets}, which may be NULL.  If ${lock}
 * shares its tickets, those who wait behind one of them are listed right behind
 * it.  False for lack of memory.  With the client's lock. */
bool hf_tickets_add(struct hf_tickets **tickets, const struct hf_lock *lock,
                    const char *queue, const struct hf_event *listed,
                    enum hf_tickets_which which);

#endif

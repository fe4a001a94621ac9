/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a queue's tickets that a user gets: the queue as it was at one
 * moment, copied out of the answer of the engine.  The user frees it.
 */
#ifndef HF_HOST_TICKET_LIST_H
#define HF_HOST_TICKET_LIST_H

#include "core/ticket.h"
#include "host/lock.h"

/* Copy from ${listed}, the answer to a whole LIST, those tickets of ${queue}, a
 * queue of ${lock}, that ${which} selects, and put them before ${tickets},
 * which may be NULL.  If ${lock} shares its tickets, the owners that wait in
 * its cohort are listed right behind the ticket that they wait for.  False for
 * lack of memory.  With the client's lock. */
bool hf_tickets_add(struct hf_tickets **tickets, const struct hf_lock *lock,
                    const char *queue, const struct hf_event *listed,
                    enum hf_tickets_which which);

#endif

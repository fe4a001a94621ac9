/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a queue's tickets that a user gets: the queue as it was at one
 * moment, copied out of the answer of the engine.  The user frees it.
 */
#ifndef HF_CLIENT_TICKET_LIST_H
#define HF_CLIENT_TICKET_LIST_H

#include <holdfast/tickets.h>

#include "client/lock.h"
#include "core/ticket.h"

struct hf_operation;

/* Copy from ${listed}, the answer to ${operation}, a LIST of a queue of
 * ${lock}, those tickets that ${which} selects, and put them before
 * ${*tickets}, which may be NULL.  If ${lock} shares its tickets, the owners
 * that wait in its cohort are listed right behind the ticket that they wait
 * for, or last if that is not in the queue; HF_TICKETS_HOLDERS leaves them out.
 * False for lack of memory.  With the client's lock. */
bool hf_tickets_add(struct hf_tickets **tickets, const struct hf_lock *lock,
                    const struct hf_operation *operation,
                    const struct hf_event *listed, enum hf_tickets_which which);

/* A list of one queue with a range of texts: the .from of the range that goes
 * on where this one has ended, and the sequence of a ticket.  The view of a
 * ticket outside of the range has NULL as its owner, unless the engine has
 * given the text all the same. */
uint64_t hf_tickets_texts_from(const struct hf_tickets *tickets);
uint64_t hf_tickets_sequence_at(const struct hf_tickets *tickets, size_t index);

#endif

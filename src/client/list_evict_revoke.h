/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing a queue on behalf of another handle: an election lists its
 * candidates, a double barrier its participants.  And listing one again and
 * again, where the text of each ticket is read once.
 */
#ifndef HF_CLIENT_LIST_EVICT_REVOKE_H
#define HF_CLIENT_LIST_EVICT_REVOKE_H

#include <holdfast/tickets.h>

#include "client/lock.h"
#include "client/ticket_list.h"

/* As hf_lock_tickets() and hf_lock_tickets_start(); errors name ${api_name}, a
 * static text.  Without the lock. */
hf_status hf_lock_list_for(struct hf_lock *lock, const char *api_name,
                           enum hf_tickets_which which, uint64_t wait_ms,
                           struct hf_tickets **tickets);
hf_status hf_lock_list_start_for(struct hf_lock *lock, const char *api_name,
                                 enum hf_tickets_which which, uint64_t wait_ms,
                                 struct hf_done done);

#endif

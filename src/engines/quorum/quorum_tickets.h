/* SPDX-License-Identifier: Apache-2.0 */
/* Our tickets: what was agreed on of each, and where it is missing. */
#ifndef HF_ENGINES_QUORUM_QUORUM_TICKETS_H
#define HF_ENGINES_QUORUM_QUORUM_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/leased/store.h"

#define HF_QUORUM_TICKET_BUCKETS 64

struct hf_quorum_ticket {
    struct hf_ticket_id id;
    char *queue;
    enum hf_ticket_kind kind;
    uint32_t weight;
    char *payload;
    uint64_t number; /* agreed on; 0: not yet */
    /* Nothing will be agreed on any more: its enqueue came to nothing, or to
     * nobody knows what.  It is in no list of ours. */
    bool enqueue_failed;
    bool removing;       /* it is being withdrawn */
    uint32_t missing_at; /* servers that do not have it */
    uint64_t renewal;    /* number of the last RENEW that named it, or 0 */
    /* The ticket before it was only proposed when we last saw the queue, and
     * may settle behind it: its watcher is told GONE then, to look again.  A
     * server tells that too, but may be cut off. */
    struct hf_ticket_id ticket_ahead;
    uint64_t recheck_at_ms; /* HF_FOREVER: there is no such ticket */
    uint64_t recheck_interval_ms;
    struct hf_quorum_ticket *next;
};

struct hf_quorum_tickets {
    struct hf_quorum_ticket *buckets[HF_QUORUM_TICKET_BUCKETS];
};

struct hf_quorum_ticket *
hf_quorum_ticket_find(const struct hf_quorum_tickets *tickets,
                      const struct hf_ticket_id *id);

/* That of ${call}, an ENQUEUE, made if it is not there.  NULL for lack of
 * memory. */
struct hf_quorum_ticket *hf_quorum_ticket_get(struct hf_quorum_tickets *tickets,
                                              const struct hf_store_call *call);

/* It says ${payload} from now on; what it said, for lack of memory. */
void hf_quorum_ticket_describe(struct hf_quorum_ticket *ticket,
                               const char *payload);

void hf_quorum_ticket_remove(struct hf_quorum_tickets *tickets,
                             struct hf_quorum_ticket *ticket);
void hf_quorum_tickets_clear(struct hf_quorum_tickets *tickets);

/* The first, and the one behind ${own}; NULL: none. */
struct hf_quorum_ticket *
hf_quorum_ticket_first(const struct hf_quorum_tickets *tickets);
struct hf_quorum_ticket *
hf_quorum_ticket_next(const struct hf_quorum_tickets *tickets,
                      const struct hf_quorum_ticket *ticket);

/* The greatest number of ours in ${queue}; 0: none. */
uint64_t hf_quorum_tickets_max_number(const struct hf_quorum_tickets *tickets,
                                      const char *queue);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The queues that a client uses, by name: its own tickets in them, the watches
 * of single tickets and of the queue as a whole, and when each queue is
 * polled. */
#ifndef HF_ENGINES_LEASED_QUEUE_TABLE_H
#define HF_ENGINES_LEASED_QUEUE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"
#include "core/engine.h"
#include "core/ticket.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_watch;
struct hf_leased_queue_watch;
struct hf_leased_ticket;

/* A queue that is in use.  Each ticket, watch and call holds a reference; the
 * queue is freed with the last one. */
struct hf_leased_queue {
    struct hf_tree_node by_name;
    size_t references;
    /* Our own tickets in this queue, linked by .next_in_queue. */
    struct hf_leased_ticket *tickets;
    struct hf_leased_watch *watches; /* newest first */
    struct hf_tree watch_tree;       /* the same watches by ticket and number */
    struct hf_leased_queue_watch *queue_watches;
    /* When to poll for what is watched in this queue.  HF_FOREVER: no poll is
     * planned, because nothing needs one, or because one is under way. */
    uint64_t poll_at_ms;
    struct hf_leased_queue *next; /* in the list of all queues */
    struct hf_leased_queue **previous_next;
    char name[];
};

/* All queues of a client. */
struct hf_leased_queue_table {
    struct hf_tree names;
    hf_tree_compare *compare_watches; /* the order of each .watch_tree */
    struct hf_leased_queue *first;    /* all queues, newest first */
    size_t ticket_count;              /* our own tickets in all queues */
    uint64_t last_watch_number; /* of the last ticket watch in any queue */
    /* The earliest .poll_at_ms of all queues, or a time before that. */
    uint64_t poll_at_ms;
};

/* Make an empty table.  ${compare_watches} orders the ticket watches of a
 * queue. */
void hf_leased_queue_table_init(struct hf_leased_queue_table *table,
                                hf_tree_compare *compare_watches);

/* Returns the queue ${name}, or NULL.  Adds no reference. */
struct hf_leased_queue *
hf_leased_queue_find(const struct hf_leased_queue_table *table,
                     const char *name);

/* Returns the queue ${name}, which is made if it is new, and adds a reference.
 * Returns NULL if memory runs out. */
struct hf_leased_queue *hf_leased_queue_ref(struct hf_leased_queue_table *table,
                                            const char *name);

/* Drop a reference; the last one frees the queue. */
void hf_leased_queue_unref(struct hf_leased_queue_table *table,
                           struct hf_leased_queue *queue);

/* Poll ${queue} at ${at_ms} or sooner. */
void hf_leased_queue_poll_by(struct hf_leased_queue_table *table,
                             struct hf_leased_queue *queue, uint64_t at_ms);

/* Returns the name of the queue that ${request} is about: the lock's name, or
 * for the flags of a barrier that name with '/' appended, which is written to
 * ${flag_queue}. */
#define HF_LEASED_FLAG_QUEUE_BYTES (HF_NAME_BYTES + 2)
const char *hf_leased_queue_of(const struct hf_request *request,
                               char flag_queue[HF_LEASED_FLAG_QUEUE_BYTES]);

/* ----------------------------------------------- when a queue is polled -- */

/* How much later than the end of a lease a poll is made, so that the ticket has
 * certainly expired. */
#define HF_LEASED_EXPIRY_SLACK_MS 5

/* Plan the next poll of ${queue}, whose tickets ${answer} has just shown: after
 * the usual interval, or when the first of their leases may have expired if
 * that is sooner.  If there are no tickets, one ttl later.  Does nothing if
 * nothing is watched in the queue. */
void hf_leased_poll_plan(struct hf_leased *leased,
                         struct hf_leased_queue *queue,
                         const struct hf_store_answer *answer);

/* Plan the next poll of ${queue} after the usual interval. */
void hf_leased_poll_later(struct hf_leased *leased,
                          struct hf_leased_queue *queue);

/* ----------------------------------------------------------- our tickets -- */

/* The tickets of this session that are at the server, or may be.  Each renewal
 * covers them, and CLOSE_SESSION removes them.  A ticket is added when its
 * ENQUEUE is begun, because a renewal that is sent behind the ENQUEUE must
 * cover it. */

/* What is known about a ticket of ours. */
enum hf_leased_ticket_state {
    HF_LEASED_TICKET_ENQUEUING, /* its ENQUEUE is under way */
    HF_LEASED_TICKET_PRESENT,   /* its ENQUEUE was answered */
    /* The ENQUEUE got no answer: the ticket is there, or may yet appear, or
     * never will.  Renewals name it, and become proof for it when they find it:
     * then it is PRESENT.  A list is no proof, because the server may show a
     * ticket that is not durable yet. */
    HF_LEASED_TICKET_UNSURE,
};

struct hf_own_ticket;

/* A ticket of ours. */
struct hf_leased_ticket {
    struct hf_tree_node by_id;
    struct hf_ticket_id id;
    enum hf_leased_ticket_state state;
    /* PRESENT: the server has lost the ticket, and the owner was not notified
     * yet */
    bool loss_unreported;
    /* with .loss_unreported: why the ticket was lost; NULL: not known */
    char *why;
    /* the owner relies on the ticket no more: it asked for the removal, or its
     * DOWNGRADE was answered that this write ticket is gone */
    bool abandoned;
    enum hf_ticket_kind kind;
    /* the ticket's owner in the core; it is only compared */
    const struct hf_own_ticket *owner;
    uint32_t revoked; /* how often its owner was asked to release it */
    /* number of the last LIST call that had the ticket; 0: none */
    uint64_t last_list;
    struct hf_leased_queue *queue;
    struct hf_leased_ticket *next_in_queue;
    struct hf_leased_ticket **previous_next_in_queue; /* for unlinking */
};

struct hf_leased_tickets {
    struct hf_tree ids;
};

void hf_leased_tickets_init(struct hf_leased_tickets *tickets);

/* Returns our ticket ${id}, or NULL. */
struct hf_leased_ticket *hf_leased_ticket_find(const struct hf_leased *leased,
                                               const struct hf_ticket_id *id);

/* Add a ticket of ours in ${queue}; ${id} must be new.  NULL if memory runs
 * out. */
struct hf_leased_ticket *hf_leased_ticket_add(struct hf_leased *leased,
                                              struct hf_leased_queue *queue,
                                              const struct hf_ticket_id *id);

/* Forget the ticket.  Frees ${ticket}. */
void hf_leased_ticket_remove(struct hf_leased *leased,
                             struct hf_leased_ticket *ticket);

/* Forget all tickets. */
void hf_leased_tickets_clear(struct hf_leased *leased);

#endif

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

/* A queue that is in use.  It is freed with its last reference; each ticket,
 * watch and call holds one. */
struct hf_leased_queue {
    struct hf_tree_node by_name;
    size_t references;
    /* Tickets of our own, linked by .next_in_queue. */
    struct hf_leased_ticket *tickets;
    struct hf_leased_watch *watches; /* newest first */
    struct hf_tree watch_tree;       /* the same watches by ticket and number */
    struct hf_leased_queue_watch *queue_watches;
    /* When to poll for what is watched here.  HF_FOREVER: no poll is planned,
     * because nothing here needs one or one is under way. */
    uint64_t poll_at_ms;
    struct hf_leased_queue *next; /* in the list of all queues */
    struct hf_leased_queue **previous_next;
    char name[];
};

/* The table of queues, and what is counted over all of them. */
struct hf_leased_queue_table {
    struct hf_tree names;
    hf_tree_compare *compare_watches; /* the order of each .watch_tree */
    struct hf_leased_queue *first;    /* all queues, newest first */
    size_t ticket_count;              /* our own tickets in all queues */
    uint64_t last_watch_number; /* of the last ticket watch in any queue */
    /* No queue has to be polled before this. */
    uint64_t poll_at_ms;
};

/* ${compare_watches} is the order of the watches of a queue. */
void hf_leased_queue_table_init(struct hf_leased_queue_table *table,
                                hf_tree_compare *compare_watches);

/* Returns the queue ${name}, or NULL.  Adds no reference. */
struct hf_leased_queue *
hf_leased_queue_find(const struct hf_leased_queue_table *table,
                     const char *name);

/* Returns the queue ${name}, made if there is none, and adds a reference. NULL
 * if memory runs out. */
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

/* Poll this much later than a lease ends, so that the ticket has expired by
 * then. */
#define HF_LEASED_EXPIRY_SLACK_MS 5

/* Plan the next poll of ${queue}, whose tickets ${answer} has just shown: when
 * the first of their leases may have expired, or after the usual interval if
 * that is sooner; if it has shown none, one ttl later.  Does nothing if nothing
 * is watched there. */
void hf_leased_poll_plan(struct hf_leased *leased,
                         struct hf_leased_queue *queue,
                         const struct hf_store_answer *answer);

/* Plan the next poll of ${queue} after the usual interval. */
void hf_leased_poll_later(struct hf_leased *leased,
                          struct hf_leased_queue *queue);

/* ----------------------------------------------------------- our tickets -- */

/* The tickets of this session that are at the server, or may be.  Each renewal
 * covers them, and CLOSE_SESSION removes them.  A ticket counts as soon as its
 * ENQUEUE is begun, because a renewal that is sent behind the ENQUEUE must
 * cover the ticket. */

/* The state of an own ticket, as the last answers showed it. */
enum hf_leased_ticket_state {
    HF_LEASED_TICKET_ENQUEUING, /* its ENQUEUE is under way */
    HF_LEASED_TICKET_PRESENT,   /* its ENQUEUE was answered */
    /* Its ENQUEUE got no answer: the ticket is there, or may yet appear, or
     * never will.  Renewals name it, and a renewal that finds it makes it
     * PRESENT.  A list does not, because the server may show a ticket that is
     * not durable yet. */
    HF_LEASED_TICKET_UNSURE,
};

struct hf_own_ticket;

/* A ticket of ours. */
struct hf_leased_ticket {
    struct hf_tree_node by_id;
    struct hf_ticket_id id;
    enum hf_leased_ticket_state state;
    /* PRESENT, but the server has lost it, and its owner does not know yet */
    bool loss_unreported;
    char *why; /* .loss_unreported: why it was lost; NULL: not known */
    /* the owner no longer relies on it: it asked for the removal, or got the
     * answer that the ticket is not the write ticket that it expected */
    bool abandoned;
    enum hf_ticket_kind kind;
    /* an object of the core, only compared */
    const struct hf_own_ticket *owner;
    uint32_t revoked;   /* how often its owner was asked to release it */
    uint64_t last_list; /* number of the last LIST call that had it; 0: none */
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

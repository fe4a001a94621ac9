/* SPDX-License-Identifier: Apache-2.0 */
/* The queues that a client uses, by name: its own tickets in them, the watches
 * of single tickets, and the watches of the queue as a whole. */
#ifndef HF_ENGINES_LEASED_QUEUE_TABLE_H
#define HF_ENGINES_LEASED_QUEUE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"
#include "core/engine.h"

struct hf_leased_ticket;
struct hf_leased_watch;
struct hf_leased_queue_watch;

/* A queue that is in use.  It is freed with its last reference; each ticket,
 * watch and call holds one. */
struct hf_leased_queue {
    struct hf_tree_node by_name; /* the first member */
    char *name;
    size_t references;
    /* Tickets of our own, linked by .next_in_queue. */
    struct hf_leased_ticket *tickets;
    struct hf_leased_watch *watches; /* newest first, ... */
    struct hf_tree watch_tree;       /* ... and by ticket and number */
    struct hf_leased_queue_watch *queue_watches;
    /* When to poll for what is watched here.  HF_FOREVER: nothing is watched,
     * or a poll is under way. */
    uint64_t poll_at_ms;
    struct hf_leased_queue *next; /* in the list of all queues */
    struct hf_leased_queue **previous_next;
};

/* The table of queues, and what is counted over all of them. */
struct hf_leased_queue_table {
    struct hf_tree names;
    hf_tree_compare *compare_watches; /* of each .watch_tree */
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

/* Iterate over all queues; NULL at the end. */
struct hf_leased_queue *
hf_leased_queue_first(const struct hf_leased_queue_table *table);
struct hf_leased_queue *
hf_leased_queue_next(const struct hf_leased_queue *queue);

/* The name of the queue that ${request} is about.  The queue of a barrier's
 * flags is the lock's name with '/' appended; it is put together in
 * ${flag_queue}. */
#define HF_LEASED_FLAG_QUEUE_BYTES (HF_NAME_BYTES + 2)
const char *hf_leased_queue_of(const struct hf_request *request,
                               char flag_queue[HF_LEASED_FLAG_QUEUE_BYTES]);

#endif

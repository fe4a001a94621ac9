/* SPDX-License-Identifier: Apache-2.0 */
/* The queues that a client has to do with, by name: its tickets in them, what
 * it watches there and who looks. */
#ifndef HF_ENGINES_LEASED_QUEUE_TABLE_H
#define HF_ENGINES_LEASED_QUEUE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tree.h"

struct hf_leased_ticket;
struct hf_leased_watch;
struct hf_leased_queue_watch;

/* Lives while it has users: tickets, watches, looks and operations. */
struct hf_leased_queue {
    struct hf_tree_node by_name; /* first */
    char *name;
    size_t references;
    struct hf_leased_ticket *tickets;
    struct hf_leased_watch *watches; /* the newest first, ... */
    struct hf_tree watch_tree;       /* ... and by ticket and number */
    struct hf_leased_queue_watch *queue_watches;
    /* When what is watched and looked at here is to be asked for, HF_FOREVER
     * if never or while it is. */
    uint64_t poll_at_ms;
    struct hf_leased_queue *next; /* of all */
    struct hf_leased_queue **previous_next;
};

struct hf_leased_queue_table {
    struct hf_tree names;
    struct hf_leased_queue *first; /* the same, the newest first */
    size_t ticket_count;           /* tickets, in all queues */
    uint64_t last_watch_number;    /* of the last watch, of any queue */
    /* No queue is to be probed before. */
    uint64_t poll_at_ms;
};

void hf_leased_queue_table_init(struct hf_leased_queue_table *table);

/* The queue called ${name}, or NULL. */
struct hf_leased_queue *
hf_leased_queue_find(const struct hf_leased_queue_table *table,
                     const char *name);

/* The same, made if there is none, with one user more.  NULL for lack of
 * memory. */
struct hf_leased_queue *hf_leased_queue_ref(struct hf_leased_queue_table *table,
                                            const char *name);

/* One user less. */
void hf_leased_queue_unref(struct hf_leased_queue_table *table,
                           struct hf_leased_queue *queue);

/* Have it probed at ${at_ms}, if that is sooner. */
void hf_leased_queue_poll_by(struct hf_leased_queue_table *table,
                             struct hf_leased_queue *queue, uint64_t at_ms);

/* Walk through all: the first, and the next, or NULL. */
struct hf_leased_queue *
hf_leased_queue_first(const struct hf_leased_queue_table *table);
struct hf_leased_queue *
hf_leased_queue_next(const struct hf_leased_queue *queue);

#endif

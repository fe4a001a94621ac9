/* SPDX-License-Identifier: Apache-2.0 */
/* The queues that a client has to do with, by name: its tickets in them, what
 * it watches there and who looks. */
#ifndef HF_ENGINES_LEASED_QUEUE_H
#define HF_ENGINES_LEASED_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tree.h"

struct hf_leased_own;
struct hf_leased_watch;
struct hf_leased_look;

/* Lives while it has users: tickets, watches, looks and operations. */
struct hf_leased_queue {
    struct hf_tree_node by_name; /* first */
    char *name;
    size_t users;
    struct hf_leased_own *owns;
    struct hf_leased_watch *watches; /* the newest first, ... */
    struct hf_tree watched;          /* ... and by ticket and number */
    struct hf_leased_look *looks;
    /* When what is watched and looked at here is to be asked for, HF_FOREVER
     * if never or while it is. */
    uint64_t probe_at_ms;
    struct hf_leased_queue *next; /* of all */
    struct hf_leased_queue **link;
};

struct hf_leased_queues {
    struct hf_tree names;
    struct hf_leased_queue *first; /* the same, the newest first */
    size_t own_count;              /* tickets, in all queues */
    uint64_t watch_number;         /* of the last watch, of any queue */
    /* No queue is to be probed before. */
    uint64_t probe_at_ms;
};

void hf_leased_queues_init(struct hf_leased_queues *queues);

/* The queue called ${name}, or NULL. */
struct hf_leased_queue *
hf_leased_queue_find(const struct hf_leased_queues *queues, const char *name);

/* The same, made if there is none, with one user more.  NULL for lack of
 * memory. */
struct hf_leased_queue *hf_leased_queue_use(struct hf_leased_queues *queues,
                                            const char *name);

/* One user less. */
void hf_leased_queue_leave(struct hf_leased_queues *queues,
                           struct hf_leased_queue *queue);

/* Have it probed at ${at_ms}, if that is sooner. */
void hf_leased_queue_probe_by(struct hf_leased_queues *queues,
                              struct hf_leased_queue *queue, uint64_t at_ms);

/* Walk through all: the first, and the next, or NULL. */
struct hf_leased_queue *
hf_leased_queue_first(const struct hf_leased_queues *queues);
struct hf_leased_queue *
hf_leased_queue_after(const struct hf_leased_queue *queue);

#endif

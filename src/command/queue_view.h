/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All tickets of one name.  Nothing shows whether a name is used as a lock with
 * one queue, as a semaphore or as a double barrier.  So the tickets of all
 * three are looked up.
 */
#ifndef HF_COMMAND_QUEUE_VIEW_H
#define HF_COMMAND_QUEUE_VIEW_H

#include <holdfast/status.h>
#include <holdfast/tickets.h>

enum {
    HF_QUEUE_VIEW_LOCK, /* mutex, read/write lock, election */
    HF_QUEUE_VIEW_SEMAPHORE,
    HF_QUEUE_VIEW_LOCKS, /* number of those that are locks */
    HF_QUEUE_VIEW_PARTICIPANTS =
        HF_QUEUE_VIEW_LOCKS, /* of a double barrier, which not every engine
                                has */
    HF_QUEUE_VIEWS           /* number of all */
};

struct hf_queue_view {
    const char *name; /* of .locks[0]: without a leading '/' */
    struct hf_lock *locks[HF_QUEUE_VIEW_LOCKS];
    struct hf_double_barrier *barrier;
    struct hf_tickets *tickets[HF_QUEUE_VIEWS]; /* NULL: none were looked up */
    /* All tickets, in their order, as an array, because there may be a hundred
     * thousand. */
    const struct hf_ticket_view **views;
    size_t view_count;
    const char **unknown; /* names of children that are neither tickets nor
                             part of one of the three */
    size_t unknown_count;
};

/* Look up the tickets of ${name} that ${which} asks for, within ${wait_ms}.
 * Participants of a double barrier are looked up only with HF_TICKETS_ALL.  On
 * failure ${error} is set.  hf_queue_view_free() must be called in both cases.
 * ${client} must stay open until then. */
hf_status hf_queue_view_load(struct hf_client *client, const char *name,
                             enum hf_tickets_which which, uint64_t wait_ms,
                             struct hf_queue_view *queue,
                             struct hf_error *error);
/* Free what hf_queue_view_load() has found.  Call this before the client is
 * closed. */
void hf_queue_view_free(struct hf_queue_view *queue);

/* Return the ticket number ${index}, counted from 0, of all that were found;
 * NULL behind the last one.  It is valid as long as ${queue}. */
const struct hf_ticket_view *hf_queue_view_at(const struct hf_queue_view *queue,
                                              size_t index);

/* Return the lock of ${queue} through which the ticket ${view} can be evicted
 * or asked to release. */
struct hf_lock *hf_queue_view_lock_of(const struct hf_queue_view *queue,
                                      const struct hf_ticket_view *view);

/* Return the name of the child number ${n}, counted from 0, that is neither a
 * ticket nor part of a semaphore or a double barrier; NULL behind the last one.
 */
const char *hf_queue_view_unknown(const struct hf_queue_view *queue, size_t n);

#endif

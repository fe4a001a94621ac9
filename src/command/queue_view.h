/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All tickets of one name.  Nothing shows whether a name is used as a lock
 * with one queue, as a semaphore or as a double barrier, so all three are
 * looked up.
 */
#ifndef HF_COMMAND_QUEUE_VIEW_H
#define HF_COMMAND_QUEUE_VIEW_H

#include <holdfast/status.h>
#include <holdfast/tickets.h>

enum {
    HF_QUEUE_VIEW_LOCK, /* mutex, read/write lock, election */
    HF_QUEUE_VIEW_SEMAPHORE,
    HF_QUEUE_VIEW_LOCKS, /* how many of them are locks */
    HF_QUEUE_VIEW_PARTICIPANTS =
        HF_QUEUE_VIEW_LOCKS, /* of a double barrier; not every engine has
                                   them */
    HF_QUEUE_VIEWS           /* how many there are */
};

struct hf_queue_view {
    const char *name; /* of .locks[0]: without a leading '/' */
    struct hf_lock *locks[HF_QUEUE_VIEW_LOCKS];
    struct hf_double_barrier *barrier;
    struct hf_tickets *tickets[HF_QUEUE_VIEWS]; /* NULL: none */
    /* All of them, in order, because there may be a hundred thousand. */
    const struct hf_ticket_view **views;
    size_t view_count;
    const char **unknown; /* names of children that are none of all that */
    size_t unknown_count;
};

/* Look up the tickets of ${name} that ${which} asks for, within ${wait_ms};
 * the participants of a double barrier only with HF_TICKETS_ALL.  A failure is
 * in ${error}.  hf_queue_view_free() must be called in both cases.  ${client}
 * must live on. */
hf_status hf_queue_view_load(struct hf_client *client, const char *name,
                             enum hf_tickets_which which, uint64_t wait_ms,
                             struct hf_queue_view *queue,
                             struct hf_error *error);
/* Free what hf_queue_view_load() has found, before its client is closed. */
void hf_queue_view_free(struct hf_queue_view *queue);

/* Ticket number ${index}, from 0, of all that were found, valid as long as
 * ${queue}.  NULL after the last. */
const struct hf_ticket_view *hf_queue_view_at(const struct hf_queue_view *queue,
                                              size_t index);

/* The lock of ${queue} that ${view}, one of its tickets, can be evicted from or
 * asked to release by. */
struct hf_lock *hf_queue_view_lock_of(const struct hf_queue_view *queue,
                                      const struct hf_ticket_view *view);

/* The name of child number ${n}, from 0, that is neither a ticket nor part of
 * a semaphore or a double barrier.  NULL after the last. */
const char *hf_queue_view_unknown(const struct hf_queue_view *queue, size_t n);

#endif

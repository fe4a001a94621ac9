/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is seen of a name.  Nothing says whether it is a lock with one queue, a
 * semaphore or a double barrier, so it is looked at as each.
 */
#ifndef HF_CLI_QUEUE_VIEW_H
#define HF_CLI_QUEUE_VIEW_H

#include <holdfast/holdfast.h>

enum {
    HF_QUEUE_VIEW_LOCK,
    HF_QUEUE_VIEW_SEMAPHORE,
    HF_QUEUE_VIEW_PARTICIPANTS, /* no lock, and nothing where there are none */
    HF_QUEUE_VIEWS
};

struct hf_queue_view {
    const char *name; /* without a leading '/'; .locks[0]'s */
    struct hf_lock *locks[HF_QUEUE_VIEW_PARTICIPANTS];
    struct hf_double_barrier *barrier;
    struct hf_tickets *tickets[HF_QUEUE_VIEWS];
};

/* Look at those tickets of the lock called ${name} that ${which} names, within
 * ${wait_ms}; HF_TICKETS_ALL is those of a double barrier too.  On failure fill
 * ${error}.  ${sights} wants hf_queue_view_free() either way. */
hf_status hf_queue_view_load(struct hf_client *client, const char *name,
                             enum hf_tickets_which which, uint64_t wait_ms,
                             struct hf_queue_view *queue,
                             struct hf_error *error);
void hf_queue_view_free(struct hf_queue_view *queue);

/* The ticket at ${place}, from 0, of all that are seen; NULL beyond the last.
 */
const struct hf_ticket_view *hf_queue_view_at(const struct hf_queue_view *queue,
                                              size_t index);

/* The name of the ${n}th thing, from 0, that is neither a ticket nor a queue of
 * a semaphore, nor of a double barrier; NULL beyond the last. */
const char *hf_queue_view_unknown(const struct hf_queue_view *queue, size_t n);

#endif

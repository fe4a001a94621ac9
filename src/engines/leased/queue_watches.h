/* SPDX-License-Identifier: Apache-2.0 */
/* Queue watches: the list of a queue, and then one event when the queue is not
 * what was listed: a ticket has come or gone, or a write ticket has become a
 * read ticket.  A queue watch ends with that event. */
#ifndef HF_ENGINES_LEASED_QUEUE_WATCHES_H
#define HF_ENGINES_LEASED_QUEUE_WATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine.h"
#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_call;

/* A ticket that was listed, as far as a change of it counts. */
struct hf_leased_listed {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
};

/* A watch of a queue, from its request to CHANGED or forget. */
struct hf_leased_queue_watch {
    struct hf_request *request;
    struct hf_leased_queue *queue;
    /* LISTED was sent. */
    bool listed;
    bool changed;         /* a change was reported, so CHANGED follows LISTED */
    uint64_t call_number; /* of its LIST */
    struct hf_leased_listed *tickets; /* in the order of the list; our copy */
    size_t count;
    struct hf_leased_queue_watch *next;
    struct hf_leased_queue_watch **previous_next;
};

/* Begin HF_REQUEST_WATCH_QUEUE: LISTED, and later CHANGED. */
void hf_leased_queue_watch(struct hf_leased *leased,
                           struct hf_request *request);
/* End the watch without an event. */
void hf_leased_queue_watch_forget(struct hf_leased *leased,
                                  struct hf_leased_queue_watch *queue_watch);

/* The queue ${queue_name} or its participants have changed: report that to all
 * watches of the queue, which ends them. */
void hf_leased_queue_watches_changed(struct hf_leased *leased,
                                     const char *queue_name);

/* Returns a listed watch of ${queue}, of its participants if ${participants}
 * and else of its tickets; NULL: there is none. */
struct hf_leased_queue_watch *
hf_leased_queue_watch_listed(const struct hf_leased_queue *queue,
                             bool participants);

/* ${call}, a LIST of all that watches of this sort list, was answered.  If the
 * answer differs from what a watch listed earlier, a notice was lost, so
 * CHANGED is sent now. */
void hf_leased_queue_watches_relisted(struct hf_leased *leased,
                                      const struct hf_leased_call *call,
                                      const struct hf_store_answer *answer);

/* The session is over: end all watches without events. */
void hf_leased_queue_watches_clear(struct hf_leased *leased);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Queue watches.  A queue watch answers its request with the list of a queue,
 * and sends one event when the queue has changed: a ticket has come or gone, or
 * a write ticket has become a read ticket.  The watch ends with that event. */
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

/* A ticket of the list, with what counts as a change. */
struct hf_leased_listed {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
};

/* A watch of a queue, from its request until QUEUE_CHANGED was sent or the
 * watch is forgotten. */
struct hf_leased_queue_watch {
    struct hf_request *request;
    struct hf_leased_queue *queue;
    /* LISTED was sent, with the list of the queue. */
    bool listed;
    /* a change was reported; QUEUE_CHANGED follows LISTED */
    bool changed;
    uint64_t call_number; /* number of the call LIST */
    /* the tickets of the list, in order; a copy */
    struct hf_leased_listed *tickets;
    size_t count;
    struct hf_leased_queue_watch *next;
    struct hf_leased_queue_watch **previous_next;
};

/* Begin HF_REQUEST_WATCH_QUEUE: LISTED is sent, and later QUEUE_CHANGED. */
void hf_leased_queue_watch(struct hf_leased *leased,
                           struct hf_request *request);
/* End the watch without an event. */
void hf_leased_queue_watch_forget(struct hf_leased *leased,
                                  struct hf_leased_queue_watch *queue_watch);

/* Send QUEUE_CHANGED for all watches of the queue ${queue_name}, which ends
 * them, because the queue or its participants have changed. */
void hf_leased_queue_watches_changed(struct hf_leased *leased,
                                     const char *queue_name);

/* Returns a watch of ${queue} for which LISTED was sent: one of participants,
 * if ${participants}, else one of tickets.  Returns NULL if there is none. */
struct hf_leased_queue_watch *
hf_leased_queue_watch_listed(const struct hf_leased_queue *queue,
                             bool participants);

/* Handle the answer to ${call}, a LIST that polls for queue watches.  If it
 * differs from what a watch has listed, a notice was lost, and QUEUE_CHANGED is
 * sent now. */
void hf_leased_queue_watches_relisted(struct hf_leased *leased,
                                      const struct hf_leased_call *call,
                                      const struct hf_store_answer *answer);

/* End all watches without events, because the session is over. */
void hf_leased_queue_watches_clear(struct hf_leased *leased);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Queue watches: the list of a queue, and then one event when a ticket of that
 * list has gone.  A watch of participants reports any change.  A queue watch
 * ends with that event. */
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

/* A watch of a queue, from its request to CHANGED or forget. */
struct hf_leased_queue_watch {
    struct hf_request *request;
    struct hf_leased_queue *queue;
    /* The watch is of a double barrier. */
    bool of_participants;
    /* LISTED was sent. */
    bool listed;
    bool changed;         /* a change was reported, so CHANGED follows LISTED */
    uint64_t call_number; /* of its LIST */
    /* number of the last call that was begun before the list came */
    uint64_t listed_after_call;
    /* of the tickets that were listed; our own copy */
    struct hf_ticket_id *ids;
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

/* A ticket of the queue ${queue_name} has gone, or its participants have
 * changed: report that to all watches of the queue, which ends them. */
void hf_leased_queue_watches_changed(struct hf_leased *leased,
                                     const char *queue_name);

/* The EXISTS call with the number ${call_number} was answered.  It asked for
 * all tickets that the watches of ${queue} had listed before, except those of
 * participants; or it began a ticket watch and asked for that ticket alone,
 * and then CHANGED may be sent although nothing has gone, which does no
 * harm. */
void hf_leased_queue_watches_polled(struct hf_leased *leased,
                                    struct hf_leased_queue *queue,
                                    uint64_t call_number,
                                    const struct hf_store_answer *answer);

/* A LIST of participants with the number ${call_number} was answered.  If it
 * differs from what a watch listed earlier, a notice was lost, so CHANGED is
 * sent now. */
void hf_leased_queue_watches_relisted(struct hf_leased *leased,
                                      struct hf_leased_queue *queue,
                                      uint64_t call_number,
                                      const struct hf_store_answer *answer);

/* The session is over: end all watches without events. */
void hf_leased_queue_watches_clear(struct hf_leased *leased);

#endif

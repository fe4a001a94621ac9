/* SPDX-License-Identifier: Apache-2.0 */
/* Looks: a list, and then the news that a ticket has gone since or, at members,
 * that anything has changed. */
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

struct hf_leased_queue_watch {
    struct hf_request *request;
    struct hf_leased_queue *queue;
    bool of_participants;
    bool listed;
    bool changed;               /* before the list came */
    uint64_t call_number;       /* number of its LIST */
    uint64_t listed_after_call; /* number of the last operation made before it
                                   came */
    struct hf_ticket_id *ids;   /* what was listed */
    size_t count;
    struct hf_leased_queue_watch *next;
    struct hf_leased_queue_watch **previous_next;
};

/* HF_REQUEST_WATCH_QUEUE */
void hf_leased_queue_watch(struct hf_leased *leased,
                           struct hf_request *request);
void hf_leased_queue_watch_forget(struct hf_leased *leased,
                                  struct hf_leased_queue_watch *queue_watch);

/* A ticket has gone from ${queue}, or its members have changed. */
void hf_leased_queue_watches_changed(struct hf_leased *leased,
                                     const char *queue);

/* A PROBE of ${queue} with that number, which asked for what all looks of
 * before have listed but those at members, was answered. */
void hf_leased_queue_watches_polled(struct hf_leased *leased,
                                    struct hf_leased_queue *queue,
                                    uint64_t call_number,
                                    const struct hf_store_answer *answer);

/* A LIST of the members of ${queue} with that number was answered, which tells
 * whether what looks of before have listed is what there is. */
void hf_leased_queue_watches_relisted(struct hf_leased *leased,
                                      struct hf_leased_queue *queue,
                                      uint64_t call_number,
                                      const struct hf_store_answer *answer);

/* The session is over: all end in silence. */
void hf_leased_queue_watches_clear(struct hf_leased *leased);

#endif

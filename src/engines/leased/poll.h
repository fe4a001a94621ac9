/* SPDX-License-Identifier: Apache-2.0 */
/* Polls: asking the server whether the tickets that are watched, or that a
 * queue watch has listed, are still there.  A notice usually comes first.  But
 * notices can be lost, and an expired ticket causes none before somebody uses
 * its queue.  Tickets of a double barrier are listed again instead, because new
 * participants count as well. */
#ifndef HF_ENGINES_LEASED_POLL_H
#define HF_ENGINES_LEASED_POLL_H

#include <stdbool.h>

#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_watch;

/* Poll this much later than a lease ends, so that the ticket has expired by
 * then. */
#define HF_LEASED_EXPIRY_SLACK_MS 5

/* Poll for the ticket of ${watch} now, to answer its WATCH.  False if memory
 * runs out. */
bool hf_leased_poll_for(struct hf_leased *leased,
                        struct hf_leased_watch *watch);

/* poll_plan.c: plan the next poll of ${queue}, whose tickets ${answer} has just
 * shown: when the first of their leases may have expired, or after the usual
 * interval if that is sooner. */
void hf_leased_poll_plan(struct hf_leased *leased,
                         struct hf_leased_queue *queue,
                         const struct hf_store_answer *answer);

/* Plan the next poll of ${queue} after the usual interval. */
void hf_leased_poll_later(struct hf_leased *leased,
                          struct hf_leased_queue *queue);

/* Poll every queue in which anything is watched. */
void hf_leased_poll_all(struct hf_leased *leased);

/* Poll the queues that are due. */
void hf_leased_poll_tick(struct hf_leased *leased);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Probes: asking whether the tickets that are watched or were listed are still
 * there.  A notice tells sooner, unless it was lost; and a ticket that runs out
 * is not told of before somebody asks. */
#ifndef HF_ENGINES_LEASED_POLL_H
#define HF_ENGINES_LEASED_POLL_H

#include <stdbool.h>

#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_watch;

/* Ask for the ticket of ${watch}.  False for lack of memory. */
bool hf_leased_poll_for(struct hf_leased *leased,
                        struct hf_leased_watch *watch);

/* ${answer} has tickets of ${queue}: ask again when the first of them may have
 * run out, and before long in any case. */
void hf_leased_poll_plan(struct hf_leased *leased,
                         struct hf_leased_queue *queue,
                         const struct hf_store_answer *answer);

/* Ask in every queue where something is watched or looked at. */
void hf_leased_poll_all(struct hf_leased *leased);

/* Ask where it is due. */
void hf_leased_poll_tick(struct hf_leased *leased);

#endif

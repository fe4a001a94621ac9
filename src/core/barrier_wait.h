/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of a barrier: who waits may pass once it was down at some moment
 * since he began to look.
 *
 * A wake-up is only news that there may be news: what it means is decided by
 * looking.  A look that finds another mark than the one before it knows that
 * the barrier was down in between, however soon it was raised again.
 */
#ifndef HF_CORE_BARRIER_WAIT_H
#define HF_CORE_BARRIER_WAIT_H

#include <stdbool.h>

#include "core/ticket.h"

/* What was seen of a barrier so far; all zero at the start. */
struct hf_barrier_wait_state {
    bool was_set; /* it was, by the mark .id and .token */
    struct hf_ticket_id id;
    uint64_t token;
};

/* Take in ${snapshot}, the answer to a LOOK at the mark: may he pass? */
bool hf_barrier_wait_is_over(struct hf_barrier_wait_state *state,
                             const struct hf_snapshot *snapshot);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait for a barrier to be cleared: it is over once the barrier was clear
 * at some moment since the wait began.
 *
 * An event only says that something may have changed; each new list decides.  A
 * list that shows another flag than the one before it proves that the barrier
 * was clear in between, however soon it was set again.
 */
#ifndef HF_CORE_BARRIER_WAIT_H
#define HF_CORE_BARRIER_WAIT_H

#include <stdbool.h>

#include "core/ticket.h"

/* The state of one wait; all zero at the start. */
struct hf_barrier_wait_state {
    bool was_set;           /* the last list showed the flag */
    struct hf_ticket_id id; /* of that flag */
    uint64_t token;         /* of that flag */
};

/* Take in ${snapshot}, the answer to a WATCH_QUEUE of the flag: is the wait
 * over? */
bool hf_barrier_wait_is_over(struct hf_barrier_wait_state *state,
                             const struct hf_snapshot *snapshot);

#endif

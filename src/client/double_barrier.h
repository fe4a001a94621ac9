/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One participant of a double barrier: it is outside, inside, or on its way
 * between the two.  Entering is an acquisition; while the participant is inside
 * it has the grant.  Leaving is in double_barrier_leave.c.
 */
#ifndef HF_CLIENT_DOUBLE_BARRIER_H
#define HF_CLIENT_DOUBLE_BARRIER_H

#include "client/grant.h"

enum hf_double_barrier_state {
    HF_DOUBLE_BARRIER_OUTSIDE,
    HF_DOUBLE_BARRIER_ENTERING,
    HF_DOUBLE_BARRIER_INSIDE,
    HF_DOUBLE_BARRIER_LEAVING,
};

/* All fields under the client's lock. */
struct hf_double_barrier {
    /* Its name.  Its tickets are participants, and .limit is the number of
     * participants. */
    struct hf_lock *lock;
    enum hf_double_barrier_state state;
    /* INSIDE and LEAVING: the grant of our ticket; else NULL. */
    struct hf_grant *grant;
    /* One of the user's handle, one of each operation under way. */
    unsigned references;
    bool freed; /* by the user */
};

/* Begin an operation that ${api_name} names: go from the state ${from} to
 * ${to}, and keep the barrier alive until hf_double_barrier_end().  Without the
 * lock.
 *   Fails     HF_ESTATE if it is not in ${from}; HF_EFORKED. */
hf_status hf_double_barrier_begin(struct hf_double_barrier *barrier,
                                  const char *api_name,
                                  enum hf_double_barrier_state from,
                                  enum hf_double_barrier_state to);

/* The operation has ended: the participant is INSIDE with ${grant} or, if that
 * is NULL, OUTSIDE.  Without the lock. */
void hf_double_barrier_end(struct hf_double_barrier *barrier,
                           struct hf_grant *grant);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One party to a double barrier: outside, inside, or between the two. */
#ifndef HF_HOST_DOUBLE_BARRIER_H
#define HF_HOST_DOUBLE_BARRIER_H

#include "host/grant.h"

enum hf_double_barrier_state {
    HF_DOUBLE_BARRIER_OUTSIDE,
    HF_DOUBLE_BARRIER_ENTERING,
    HF_DOUBLE_BARRIER_INSIDE,
    HF_DOUBLE_BARRIER_LEAVING,
};

/* Under the client's lock. */
struct hf_double_barrier {
    struct hf_lock *lock; /* its name, of members; .limit are the parties */
    enum hf_double_barrier_state state;
    struct hf_grant *grant; /* INSIDE, LEAVING: the membership */
    unsigned references;    /* the user's, and each operation's under way */
    bool freed;
};

/* Go from ${from} to ${to} for an operation called ${call}, and keep it alive.
 *   Fails     HF_ESTATE if it is not there; HF_EFORKED. */
hf_status hf_double_barrier_begin(struct hf_double_barrier *barrier,
                                  const char *call,
                                  enum hf_double_barrier_state from,
                                  enum hf_double_barrier_state to);

/* Remember that ${call} failed as ${error} says, whose status is returned:
 * HF_EFORKED instead in a child. */
hf_status hf_double_barrier_fail(struct hf_double_barrier *barrier,
                                 const char *call, struct hf_error *error);

/* The operation has ended, and it now is INSIDE with ${grant} or, that being
 * NULL, OUTSIDE. */
void hf_double_barrier_end(struct hf_double_barrier *barrier,
                           struct hf_grant *grant);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving a double barrier, in up to three steps: a look whether one's own
 * ticket is to be kept, and then until one is alone; the ticket taken out; and,
 * if it went first, the wait for the others.
 */
#ifndef HF_HOST_DEPARTURE_H
#define HF_HOST_DEPARTURE_H

#include "host/double_barrier.h"
#include "host/queue_op.h"

/* One that was started; under the client's lock. */
struct hf_departure {
    struct hf_double_barrier *barrier; /* until the end */
    struct hf_op op;
    struct hf_op *step; /* the wait that is under way, or NULL */
    struct hf_done done;
    struct hf_queue_op_args args; /* the first wait */
    uint64_t deadline_at_ms;      /* HF_FOREVER: none */
    bool cancelled;
    bool yields; /* the others are waited for without a ticket */
    struct hf_error outcome;
    unsigned references; /* its own until the end, and the user's handle */
};

#endif

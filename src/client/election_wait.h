/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait until a candidate leads, with a deadline of its own.  The candidacy
 * goes on whatever the wait ends with.
 *
 * A wait that was started is kept alive by its callback and by the user's
 * operation handle; a wait that blocks is on the stack of its caller.
 */
#ifndef HF_HOST_ELECTION_WAIT_H
#define HF_HOST_ELECTION_WAIT_H

#include "client/election.h"
#include "monitor/callback_queue.h"
#include "operation/op_handle.h"

/* All fields under the client's lock. */
struct hf_election_wait {
    /* The election; not used any more once the wait has ended. */
    struct hf_election *election;
    struct hf_client *client; /* the election's */
    struct hf_op op;          /* of a wait that was started */
    unsigned references;      /* of a wait that was started */
    bool only_try; /* end with HF_EBUSY if another candidate is ahead */
    uint64_t started_at_ms; /* by hf_now_ms() */
    /* In the client's heap, if there is a deadline. */
    struct hf_heap_node deadline;
    bool ended;
    struct hf_error outcome;
    /* The call that waits; NULL: it was started, with .done. */
    struct hf_waiter *waiter;
    struct hf_done done;
    struct hf_callback done_callback;
    struct hf_election_wait *next; /* in the client's list, until it ends */
};

/* All with the client's lock. */

/* End every wait for ${election} with ${why}; or with HF_ECANCELLED for
 * ${reason}, which is something that the user did. */
void hf_election_waits_end(struct hf_election *election,
                           const struct hf_error *why);
void hf_election_waits_cancel(struct hf_election *election, const char *reason);

/* The core has reported the place of the election's ticket: end the waits that
 * only try, if another candidate is ahead. */
void hf_election_waits_end_tries(struct hf_election *election);

/* End the waits of ${client} whose deadline has passed; and the instant of the
 * next deadline, HF_FOREVER if there is none. */
void hf_election_waits_expire(struct hf_client *client);
uint64_t hf_election_waits_wake_at_ms(const struct hf_client *client);

#endif

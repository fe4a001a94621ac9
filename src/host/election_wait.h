/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait until a candidate leads: notified beside its callbacks, with a
 * deadline of its own.  The candidacy goes on whatever becomes of the wait.
 *
 * One that was started is kept alive by its callback and by the user's
 * operation handle; one that blocks lies on its caller's stack.
 */
#ifndef HF_HOST_ELECTION_WAIT_H
#define HF_HOST_ELECTION_WAIT_H

#include "host/election.h"
#include "host/op_handle.h"
#include "monitor/callback_queue.h"

struct hf_election_wait {
    struct hf_election *election; /* not looked at once this has ended */
    struct hf_op op;              /* .client is set of one that blocks, too */
    unsigned references;          /* under the client's lock, as the rest */
    bool only_try; /* end with HF_EBUSY where somebody else is ahead */
    uint64_t started_at_ms;
    struct hf_heap_node deadline; /* in the client's, if there is one */
    bool ended;
    struct hf_error outcome;
    struct hf_waiter *waiter; /* who waits; NULL: it was started, with .done */
    struct hf_done done;
    struct hf_callback done_callback;
    struct hf_election_wait *next; /* in the client's list, until it ends */
};

/* All with the client's lock. */

/* End every wait for ${election}: as ${why} says, or because of ${reason},
 * which is the user's. */
void hf_election_waits_end(struct hf_election *election,
                           const struct hf_error *why);
void hf_election_waits_cancel(struct hf_election *election, const char *reason);

/* The place of ${election}'s ticket was looked up: end the tries that it
 * answers. */
void hf_election_waits_end_tries(struct hf_election *election);

/* End those of ${client} whose time is over, the first of them at the instant
 * that the second returns. */
void hf_election_waits_expire(struct hf_client *client);
uint64_t hf_election_waits_wake_at_ms(const struct hf_client *client);

#endif

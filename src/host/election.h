/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An election: a candidacy in the background that is always one grant, and the
 * next one as soon as that is lost.
 *
 *   IDLE         no candidacy
 *   CAMPAIGNING  .grant is wanted
 *   LEADING      .grant is held
 *   LEAVING      .grant is on its way out, resigned
 *
 * The state changes as effects of the core are carried out (candidacy.c), so it
 * goes on where nobody runs callbacks; the user is notified apart from that
 * (election_events.c).
 *
 * An election is kept alive by the user's handle, by each of its candidacies
 * until the core has forgotten it, and by callbacks of it that are queued.
 */
#ifndef HF_HOST_ELECTION_H
#define HF_HOST_ELECTION_H

#include <stdatomic.h>

#include "host/grant.h"

enum hf_election_state {
    HF_ELECTION_IDLE,
    HF_ELECTION_CAMPAIGNING,
    HF_ELECTION_LEADING,
    HF_ELECTION_LEAVING
};

struct hf_election {
    struct hf_client *client;
    struct hf_lock *lock;
    unsigned references; /* under the client's lock, as the rest */
    struct hf_election_opts opts;
    char text_or_id[HF_ELECTION_ID_BYTES + 1]; /* .opts.text or .opts.id */
    enum hf_election_state state;
    struct hf_grant *grant; /* NULL if IDLE */

    /* Of the grant if LEADING, else 0; and whether safe-until of the session is
     * about that: no more as soon as it is lost, before the user is notified.
     * For any thread. */
    _Atomic uint64_t token;
    _Atomic bool valid;
    uint64_t elected_at_ms;
    struct hf_retry_state campaign_retry; /* of leaderships that end soon */

    /* Events that the user is to be notified of, see election_events.h. */
    struct hf_callback event_callback;
    bool notifying;          /* a callback of the user runs */
    uint64_t notified_token; /* on_elected had it, and on_deposed not yet */
    bool revoke_pending;     /* to let go */
    bool end_pending;
    struct hf_error idle_reason; /* why it is idle; HF_OK: nobody asked it to
                            campaign, or it resigned */

    /* A resignation, from the call to its answer. */
    bool resigning;
    bool has_left_queue; /* it can be answered */
    struct hf_error outcome;
    struct hf_waiter *waiter;
    struct hf_done done;
    struct hf_callback done_callback;

    bool freed;                    /* by the user */
    struct hf_waiter *free_waiter; /* who waits in that for a callback's end */
    struct hf_deferred_free deferred;
};

/* Both with the client's lock. */
void hf_election_reference(struct hf_election *election);
void hf_election_dereference(struct hf_election *election);

#endif

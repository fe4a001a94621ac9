/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An election: a candidacy in the background.  Each candidacy is one grant, and
 * the next one begins when that is lost.
 *
 *   IDLE         no candidacy
 *   CAMPAIGNING  .grant is requested and waits
 *   LEADING      .grant is held
 *   LEAVING      .grant is being removed, because of a resignation
 *
 * The state changes while effects of the core are carried out (candidacy.c), so
 * it goes on where no thread runs callbacks.  The user is notified separately
 * (election_events.c).
 *
 * An election is kept alive by the user's handle, by each of its candidacies
 * until the core is done with it, and by its callbacks that are queued.
 */
#ifndef HF_HOST_ELECTION_H
#define HF_HOST_ELECTION_H

#include <stdatomic.h>

#include "client/grant.h"

enum hf_election_state {
    HF_ELECTION_IDLE,
    HF_ELECTION_CAMPAIGNING,
    HF_ELECTION_LEADING,
    HF_ELECTION_LEAVING
};

/* All fields under the client's lock, where nothing else is said. */
struct hf_election {
    struct hf_client *client;
    struct hf_lock *lock; /* its name and kind; set once */
    unsigned references;  /* see above */
    /* Of the user; its texts are in .text_or_id. */
    struct hf_election_opts opts;
    /* A copy of the text or the id in the options. */
    char text_or_id[HF_ELECTION_ID_BYTES + 1];
    enum hf_election_state state;
    struct hf_grant *grant; /* the candidacy; NULL if IDLE */

    /* The token of the grant if LEADING, else 0.  Any thread may read it
     * without the lock. */
    _Atomic uint64_t token;
    /* Is safe-until of the session about this leadership?  False from the loss
     * on, before the user is notified.  Any thread may read it; the core clears
     * it. */
    _Atomic bool valid;
    uint64_t elected_at_ms; /* when the last leadership began, by hf_now_ms() */
    /* The backoff of candidacies after short leaderships. */
    struct hf_retry_state campaign_retry;

    struct hf_callback event_callback; /* one for all events */
    bool notifying;                    /* a callback of the user runs */
    /* The user was notified of this leadership by on_elected, and not of its
     * end yet; 0: neither. */
    uint64_t notified_token;
    bool revoke_pending; /* a release was asked for; to be reported */
    bool end_pending;    /* the candidacy ended unasked; to be reported */
    /* Why it is IDLE.  HF_OK: it was not asked to campaign, or it resigned. */
    struct hf_error idle_reason;

    /* A resignation, from the call until it is answered. */
    bool resigning;
    /* Nothing of it is in the queue, so it can be answered. */
    bool has_left_queue;
    struct hf_error outcome;  /* the answer */
    struct hf_waiter *waiter; /* the call that waits for it, or NULL */
    struct hf_done done;      /* or the callback */
    struct hf_callback done_callback;

    bool freed; /* by the user */
    /* hf_election_free() that waits for a callback to return. */
    struct hf_waiter *free_waiter;
    struct hf_deferred_free deferred;
};

/* Keep it alive, and drop a reference.  It is destroyed after the lock was
 * released. */
void hf_election_reference(struct hf_election *election);
void hf_election_dereference(struct hf_election *election);

#endif

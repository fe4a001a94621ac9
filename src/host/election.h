/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An election: a candidature that is always one grant, in the background, and
 * the next one as soon as that is lost.
 *
 *   RESTING  stands for nothing
 *   STANDING .grant is wanted
 *   LEADING  .grant is had
 *   LEAVING  .grant is on its way out, resigned
 *
 * Everything happens as effects of the core are carried out, so that it goes on
 * where nobody runs callbacks; what the user has not been told of it yet is
 * told by one callback, which looks at what is to be told when it runs.  So
 * they come by turns whatever happens in between.
 *
 * It is kept alive by the user's handle, by each of its candidatures until the
 * core has forgotten it, and by callbacks of it that are queued.
 */
#ifndef HF_HOST_ELECTION_H
#define HF_HOST_ELECTION_H

#include <stdatomic.h>

#include "host/grant.h"

enum hf_election_state {
    HF_ELECTION_RESTING,
    HF_ELECTION_STANDING,
    HF_ELECTION_LEADING,
    HF_ELECTION_LEAVING
};

struct hf_election {
    struct hf_client *client;
    struct hf_lock *lock;
    unsigned references; /* under the client's lock, as the rest */
    struct hf_election_opts opts;
    char words[HF_ELECTION_ID_BYTES + 1]; /* .opts.text or .opts.id */
    enum hf_election_state state;
    struct hf_grant *grant; /* NULL if RESTING */

    /* LEADING, else 0; and whether safe-until of the session is about that: no
     * more as soon as it is lost, before anybody is told.  For any thread. */
    _Atomic uint64_t token;
    _Atomic bool valid;
    uint64_t elected_at_ms;
    struct hf_retry_state again; /* of leaderships that end soon */

    /* What is to be told, see news.c. */
    struct hf_callback news_callback;
    bool telling;        /* a callback of the user runs */
    uint64_t told_token; /* of what on_elected was told and on_deposed not */
    bool asked;          /* to let go */
    bool ended;
    struct hf_error end; /* why it rests; HF_OK: it was not to stand */

    /* A resignation, from the call to its answer. */
    bool resigning;
    bool out; /* it can be answered */
    struct hf_error outcome;
    struct hf_waiter *waiter;
    struct hf_done done;
    struct hf_callback done_callback;

    bool freed;                    /* by the user */
    struct hf_waiter *free_waiter; /* who waits in that for a callback's end */
    struct hf_deferred_free deferred;
};

/* All with the client's lock. */

void hf_election_reference(struct hf_election *election);
void hf_election_dereference(struct hf_election *election);

/* Begin a candidature, from RESTING.  HF_ENOMEM. */
hf_status hf_election_stand(struct hf_election *election,
                            uint64_t not_before_ms, struct hf_error *error);

/* End it, if there is one: hf_election_left() follows, perhaps at once. */
void hf_election_leave(struct hf_election *election);

/* Nothing of ${election} is in the queue any more, or ${why} it still is. */
void hf_election_left(struct hf_election *election, const struct hf_error *why);

/* Answer a resignation that can be answered. */
void hf_election_answer(struct hf_election *election);

/* Have told what there is to tell; or tell nothing of what there was. */
void hf_election_tell(struct hf_election *election);
void hf_election_hush(struct hf_election *election);

/* Have ${election}, which was freed, drop the callbacks that it has.  Gives the
 * lock up meanwhile. */
void hf_election_drop_callbacks(struct hf_election *election);

/* The callback that tells. */
void hf_election_run_news(void *arg);

/* An effect of ${kind} on ${grant}, a candidature of ${election}, has been
 * carried out. */
void hf_election_heed(struct hf_election *election, struct hf_grant *grant,
                      enum hf_effect_kind kind);

#endif
